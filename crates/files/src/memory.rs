//! How much memory this process may still take.

use std::fs;
use std::path::Path;

/// Bytes that the system can give without swapping, and that the control groups of this process (a container, a batch job) leave. `None`
/// where the system gives no number.
pub fn available_bytes() -> Option<u64> {
    available_below(Path::new("/"))
}

fn available_below(root: &Path) -> Option<u64> {
    let of_system = of_system(&fs::read_to_string(root.join("proc/meminfo")).ok()?)?;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| left_in_groups(root, line)).min();
    Some(of_groups.map_or(of_system, |left| left.min(of_system)))
}

/// `MemAvailable` of `/proc/meminfo`.
fn of_system(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// The files of a control group with the memory that it may have and has, and its line for page cache that can be taken back.
struct Names {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    reclaimable: &'static str,
}

const VERSION_1: Names = Names {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};
const VERSION_2: Names =
    Names { mount: "sys/fs/cgroup", limit: "memory.max", usage: "memory.current", reclaimable: "inactive_file" };

/// What a group of `/proc/self/cgroup` and those above it leave: `0::/path` for version 2, `4:memory:/path` for version 1.
fn left_in_groups(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let names = if controllers.split(',').any(|controller| controller == "memory") {
        &VERSION_1
    } else if number == "0" && controllers.is_empty() {
        &VERSION_2
    } else {
        return None;
    };
    let mount = root.join(names.mount);
    let group = Path::new(path.trim_start_matches('/'));
    // In a container the path may be that of the host, and the group itself is mounted at the top.
    group.ancestors().filter_map(|group| left_in_group(&mount.join(group), names)).min()
}

fn left_in_group(group: &Path, names: &Names) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(names.limit)?, number(names.usage)?);
    let stat = read("memory.stat").unwrap_or_default();
    let cache = stat.lines().find_map(|line| line.strip_prefix(names.reclaimable)?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(usage.saturating_sub(cache.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = std::io::Result<()>;

    fn system(files: &[(&str, &str)]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        for (name, content) in [("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    1000 kB\n")].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(crate::paths::parent_of(&path))?;
            fs::write(path, content)?;
        }
        Ok(root)
    }

    #[test]
    fn without_groups_the_system_decides() -> TestResult {
        assert_eq!(available_below(system(&[])?.path()), Some(1_024_000));
        let unlimited = [("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")];
        assert_eq!(available_below(system(&unlimited)?.path()), Some(1_024_000));
        assert_eq!(available_below(Path::new("/nowhere")), None);
        Ok(())
    }

    #[test]
    fn the_tightest_group_of_version_2_decides() -> TestResult {
        let group = "sys/fs/cgroup/batch/job";
        let (max, current, stat) =
            (format!("{group}/memory.max"), format!("{group}/memory.current"), format!("{group}/memory.stat"));
        let mut files = vec![
            ("proc/self/cgroup", "0::/batch/job\n"),
            (max.as_str(), "500000\n"),
            (current.as_str(), "100000\n"),
            (stat.as_str(), "anon 1\ninactive_file 30000\nfile 99\n"),
        ];
        assert_eq!(available_below(system(&files)?.path()), Some(430_000));
        files.extend([("sys/fs/cgroup/batch/memory.max", "20000"), ("sys/fs/cgroup/batch/memory.current", "19000")]);
        assert_eq!(available_below(system(&files)?.path()), Some(1000));
        Ok(())
    }

    #[test]
    fn groups_of_version_1_count_too_and_where_a_container_sees_them() -> TestResult {
        let nested = [
            ("proc/self/cgroup", "5:cpu:/x\n4:memory:/x\n0::/\n"),
            ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "70000\n"),
            ("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "60000\n"),
        ];
        assert_eq!(available_below(system(&nested)?.path()), Some(10_000));
        let of_container = [
            ("proc/self/cgroup", "4:hugetlb,memory:/docker/0123\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "70000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "80000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 20000\n"),
        ];
        assert_eq!(available_below(system(&of_container)?.path()), Some(10_000));
        Ok(())
    }

    #[test]
    fn this_system_says_what_it_has() {
        assert!(available_bytes().is_none_or(|bytes| bytes > 0));
    }
}
