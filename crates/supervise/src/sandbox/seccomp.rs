//! System calls that nothing in a sandbox needs and that would widen what it can reach in the kernel.
//!
//! Namespaces and mounts keep a tree where it is; this keeps it from making new ones of its own, in which it would be
//! root and could try the kernel's rarely used parts. `ptrace` stays: debuggers and sanitizers need it, and no process
//! outside can be seen.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
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
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
];

/// `ioctl`s that type for the user, if a terminal should ever get in here.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

/// Puts this process and all that come from it under the filter. It cannot be taken off again.
pub(crate) fn restrict() -> io::Result<()> {
    let filters = [filter(denied()?, libc::EPERM)?, filter(absent(), libc::ENOSYS)?];
    filters.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(io::Error::other))
}

fn denied() -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let new_user = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    let in_flags = || rule(0, SeccompCmpOp::MaskedEq(new_user), new_user);
    rules.insert(libc::SYS_unshare, vec![in_flags()?]);
    rules.insert(libc::SYS_clone, vec![in_flags()?]);
    rules.insert(libc::SYS_ioctl, vec![rule(1, SeccompCmpOp::Eq, TIOCSTI)?, rule(1, SeccompCmpOp::Eq, TIOCLINUX)?]);
    Ok(rules)
}

/// A filter cannot look into its structure; where it is said to be absent, `clone` is used instead.
fn absent() -> BTreeMap<i64, Vec<SeccompRule>> {
    BTreeMap::from([(libc::SYS_clone3, Vec::new())])
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
    condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(io::Error::other)
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
