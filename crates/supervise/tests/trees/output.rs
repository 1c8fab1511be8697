//! What comes out of a tree: bytes, all of them, in bounded memory.

use windlass_supervise::{Ended, EndedBy, ProcessEvent};

use crate::agents::ODD_BYTES;
use crate::world::{World, block_on, launcher, run};

crate::cases![
    bytes_that_are_no_text_arrive_unchanged,
    two_hundred_megabytes_pass_through_a_small_shim,
    a_capped_flood_keeps_head_and_tail,
    offsets_grow_and_end_at_the_length_of_the_file,
    times_index_what_came_when,
    a_second_tree_appends_to_the_transcript,
    a_full_disk_ends_the_tree_and_is_told,
];

fn bytes_that_are_no_text_arrive_unchanged() {
    let world = World::new();
    let (_, record) = run(&world.agent("bytes", ""));
    assert_eq!(world.stdout(), ODD_BYTES);
    assert_eq!(record.stdout_bytes, ODD_BYTES.len() as u64);
}

fn high_water_kb(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn two_hundred_megabytes_pass_through_a_small_shim() {
    const SIZE: u64 = 200_000_000;
    let world = World::new();
    let most = block_on(async {
        let mut running = launcher().start(&world.agent("flood", &SIZE.to_string())).await.unwrap();
        let shim = running.shim_pid().unwrap();
        let mut most = 0;
        while let Some(event) = running.next().await {
            most = most.max(high_water_kb(shim).unwrap_or(0));
            if let ProcessEvent::Closed(record) = event {
                assert_eq!(record.ended, Ended::Exited { code: 0 });
                assert_eq!(record.stdout_bytes, SIZE);
            }
        }
        most
    });
    assert_eq!(std::fs::metadata(world.path("stdout")).unwrap().len(), SIZE);
    assert!(most > 0 && most < 16_000, "the shim took {most} kB");
}

fn a_capped_flood_keeps_head_and_tail() {
    let world = World::new();
    let mut spec = world.agent("flood", "5000000");
    spec.cap_bytes = Some(1000);
    let (_, record) = run(&spec);
    let text = String::from_utf8(world.stdout()).unwrap();
    assert_eq!(record.stdout_bytes, text.len() as u64);
    let marker = format!("\n[... {} bytes omitted ...]\n", 5_000_000 - 1000 - 65_536);
    assert_eq!(text.find(&marker), Some(1000));
    assert_eq!(text.len(), 1000 + marker.len() + 65_536);
}

fn offsets_grow_and_end_at_the_length_of_the_file() {
    let world = World::new();
    let (events, record) = run(&world.agent("flood", "3000000"));
    let mut last = 0;
    for event in &events {
        if let ProcessEvent::Output { stdout, .. } = event {
            assert!(*stdout > last, "an offset that says nothing new");
            last = *stdout;
        }
    }
    assert_eq!((last, record.stdout_bytes), (3_000_000, 3_000_000));
}

fn times_index_what_came_when() {
    let world = World::new();
    let mut spec = world.agent("flood", "3000000");
    spec.times = Some(world.path("times"));
    let before = jiff::Timestamp::now().as_millisecond();
    run(&spec);
    let after = jiff::Timestamp::now().as_millisecond();
    let index = std::fs::read(world.path("times")).unwrap();
    let (entries, rest) = index.as_chunks::<16>();
    assert!(rest.is_empty() && !entries.is_empty());
    let mut last = None;
    for entry in entries {
        let offset = u64::from_le_bytes(*entry.first_chunk().unwrap());
        let time = u64::from_le_bytes(*entry.last_chunk().unwrap()).cast_signed();
        assert!(before <= time && time <= after);
        assert!(last.is_none_or(|(before, then)| offset > before && time >= then));
        last = Some((offset, time));
    }
    assert_eq!(&index[..8], &[0; 8], "the first entry is for the first byte");
}

fn a_second_tree_appends_to_the_transcript() {
    let world = World::new();
    run(&world.agent("say", "one "));
    let (events, record) = run(&world.agent("say", "two"));
    assert_eq!(world.stdout(), b"one two");
    assert_eq!(record.stdout_bytes, 7);
    assert!(events.contains(&ProcessEvent::Output { stdout: 7, stderr: 0 }), "{events:?}");
}

/// A file system of 256 KiB, as long as it lives.
struct TinyDisk(std::path::PathBuf);

impl TinyDisk {
    fn mount(path: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tmpfs", &path, "tmpfs", flags, Some(c"size=256k")).ok()?;
        Some(Self(path))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

fn a_full_disk_ends_the_tree_and_is_told() {
    crate::world::on_each_strong_rung(|rung| {
        let world = World::new();
        let Some(disk) = TinyDisk::mount(world.path("disk")) else {
            eprintln!("SKIPPED: a full disk cannot be made without the right to mount");
            return;
        };
        let mut spec = world.agent("flood", "100000000");
        spec.containment = rung;
        spec.stdout = disk.0.join("stdout");
        spec.exit_record = disk.0.join("exit.json");
        let (_, record) = run(&spec);
        let Ended::WriteFailed { out_of_space, message } = &record.ended else { panic!("{record:?}") };
        assert!(*out_of_space, "{message}");
        assert_eq!(record.by, EndedBy::Itself);
        assert_eq!(record.stdout_bytes, std::fs::metadata(&spec.stdout).unwrap().len());
        let on_disk = windlass_supervise::read_exit_record(&spec.exit_record).unwrap();
        assert_eq!(on_disk, Some(record), "the record's room was reserved");
    });
}
