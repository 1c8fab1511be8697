//! System calls that nothing in a sandbox needs and that would widen what it can reach in the kernel.
//!
//! Namespaces and mounts keep a tree where it is; this prevents new ones, in which it would be
//! root and could try the kernel's rarely used parts. It also keeps it from leaving a program that runs with the rights of
//! its owner (set-user-ID and set-group-ID), as systemd's `RestrictSUIDSGID` does. `ptrace` stays: debuggers and sanitizers
//! need it, and no process outside can be seen.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

/// Refused whatever their arguments are.
const DENIED: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    SYS_KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
];

/// `libc` does not have it everywhere.
const SYS_KEXEC_FILE_LOAD: i64 = if cfg!(target_arch = "x86_64") { 320 } else { 294 };

/// `ioctl`s that type for the user, if a terminal should ever get in here.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

/// Calls that give a file its mode, with the argument that is the mode.
const SETS_MODE: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    (libc::SYS_mkdirat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];

/// Calls that may make a file, with the arguments that are its flags and its mode.
const MAY_CREATE: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// The same number on all architectures; `libc` does not have it everywhere.
const SYS_FCHMODAT2: i64 = 452;

/// Filters cannot look into the structures of these; programs fall back to older calls.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Puts this process and all that come from it under the filter. It cannot be taken off again.
pub(crate) fn restrict() -> io::Result<()> {
    let filters = [filter(denied()?, libc::EPERM)?, filter(absent(), libc::ENOSYS)?, other_numbers()];
    filters.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(io::Error::other))
}

fn denied() -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let new_user = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    let in_flags = || rule(0, SeccompCmpOp::MaskedEq(new_user), new_user);
    rules.insert(libc::SYS_unshare, vec![in_flags()?]);
    rules.insert(libc::SYS_clone, vec![in_flags()?]);
    rules.insert(libc::SYS_ioctl, vec![rule(1, SeccompCmpOp::Eq, TIOCSTI)?, rule(1, SeccompCmpOp::Eq, TIOCLINUX)?]);
    rules.insert(libc::SYS_socket, vec![rule(0, SeccompCmpOp::Eq, u64::from(libc::AF_VSOCK.cast_unsigned()))?]);
    let special = [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)];
    let has = |argument, bits| condition(argument, SeccompCmpOp::MaskedEq(bits), bits);
    for (call, mode) in SETS_MODE {
        let each = special.iter().map(|bit| all_of(vec![has(*mode, *bit)?]));
        rules.insert(*call, each.collect::<io::Result<_>>()?);
    }
    // Only with one of these flags the mode means something.
    let creates = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY].map(|flag| u64::from(flag.cast_unsigned()));
    for (call, flags, mode) in MAY_CREATE {
        let pairs = creates.iter().flat_map(|flag| special.iter().map(move |bit| (*flag, *bit)));
        let each = pairs.map(|(flag, bit)| all_of(vec![has(*flags, flag)?, has(*mode, bit)?]));
        rules.insert(*call, each.collect::<io::Result<_>>()?);
    }
    Ok(rules)
}

fn absent() -> BTreeMap<i64, Vec<SeccompRule>> {
    ABSENT.iter().map(|call| (*call, Vec::new())).collect()
}

/// The x32 numbers of x86-64 name the same calls again.
fn other_numbers() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let refused = ERRNO | libc::ENOSYS.cast_unsigned();
    vec![step(LOAD, 0, 0, 0), step(JUMP_IF_AT_LEAST, 0, 1, X32), step(RETURN, 0, 0, refused), step(RETURN, 0, 0, ALLOW)]
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    all_of(vec![condition(argument, operator, value)?])
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

fn all_of(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refused = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_made_on_this_machine() {
        let programs = [filter(denied().unwrap(), libc::EPERM).unwrap(), filter(absent(), libc::ENOSYS).unwrap()];
        assert!(programs.iter().all(|program| !program.is_empty() && program.len() < 4096));
    }
}
