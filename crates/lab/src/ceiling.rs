//! What the storage of a study can do: each different pool is made as for a trial, and measured
//! with fio under the limits of a guest.

use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, Read as _},
    iter,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rookery_guest::{IoLimits, Lab, LabShape, RunDirs, open_lab};
use rookery_host::{
    Cgroups, HostError, RealHost, RunId,
    fio::{BLOCKS_KIB, Ceiling, CeilingPoint, PATTERNS, Sweep, sweep},
    io::{check_throttle, disk_of, limit, make_group},
};
use rookery_study::{Plan, StorageRole, StorageUse, Variant, VolumeUse};

use crate::{
    error::LabError,
    event::{Event, Listener},
    run_dir::{RunDir, write_whole},
    storage,
};

/// Name of the file beside a run's store that tells what its storage can do: a list of [`Ceiling`]s
/// as JSON.
pub const CEILINGS: &str = "storage.json";

/// Longest file of ceilings that is read.
const MOST_BYTES: u64 = 4 << 20;

/// The ceilings that were measured for the run in `directory`; none where nobody asked for them.
///
/// # Errors
/// When the file cannot be read, or is no list of ceilings.
pub fn ceilings(directory: &Path) -> io::Result<Vec<rookery_analysis::storage::Ceiling>> {
    let file = match File::open(directory.join(CEILINGS)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// How storage is measured.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// Size of the file that is read and written, MiB.
    pub file_mib: u64,
    /// Seconds at each point.
    pub seconds: u32,
    /// Requests under way at once.
    pub depths: Cow<'static, [u32]>,
}

/// Called with every point as it is measured; breaks to stop.
pub type CeilingListener<'a> = dyn FnMut(&CeilingPoint) -> ControlFlow<()> + 'a;

impl Gauge {
    /// What a run takes for the ceilings that its study asks for: some ten seconds for a pool.
    const OF_RUNS: Self = Self {
        file_mib: 128,
        seconds: 1,
        depths: Cow::Borrowed(&[4, 32]),
    };

    /// Measure the storage below a directory.
    ///
    /// # Errors
    /// When fio is missing or fails, or nothing can be written there.
    pub fn directory(
        &self,
        directory: &Path,
        listener: &mut CeilingListener<'_>,
    ) -> Result<Ceiling, LabError> {
        let words = format!("the directory {}", directory.display());
        self.measure(directory, None, &words, listener)
    }

    /// Measure each different pool that a plan asks for, in its order. What is made for it lies
    /// below `runs`, and goes.
    ///
    /// # Errors
    /// When a pool cannot be made, I/O not be limited, or fio fails.
    pub fn pools(
        &self,
        plan: &Plan,
        runs: &Path,
        listener: &mut CeilingListener<'_>,
    ) -> Result<Vec<Ceiling>, LabError> {
        storage::check_runs(plan, runs)?;
        let dir = RunDir::create(runs, "storage")?;
        let measured = self.pools_in(&dir, plan, listener);
        let removed = fs::remove_dir_all(dir.path())
            .map_err(|error| LabError::file("remove the directory", dir.path(), error));
        let measured = measured?;
        removed.map(|()| measured)
    }

    fn pools_in(
        &self,
        dir: &RunDir,
        plan: &Plan,
        listener: &mut CeilingListener<'_>,
    ) -> Result<Vec<Ceiling>, LabError> {
        let site = RunDirs {
            run: dir.run().clone(),
            dir: dir.guests(),
            // No template is made.
            templates: dir.path().join("templates"),
        };
        // The kind of guest does not matter: none is made.
        let mut lab = open_lab(&LabShape::Bare, site, Arc::new(RealHost))?;
        let measured: Result<Vec<Ceiling>, LabError> = pools(plan)
            .into_iter()
            .enumerate()
            .map(|(index, pool)| self.pool(lab.as_ref(), dir, index, &pool, listener))
            .collect();
        let closed = lab.close();
        let measured = measured?;
        closed?;
        Ok(measured)
    }

    fn pool(
        &self,
        lab: &dyn Lab,
        dir: &RunDir,
        index: usize,
        pool: &Pool<'_>,
        listener: &mut CeilingListener<'_>,
    ) -> Result<Ceiling, LabError> {
        let limits = *pool.limits;
        let Some(volume) = pool.volume.filter(|volume| !volume.raw) else {
            let words = format!("the directory of runs{}", limit_words(&limits));
            let disk = || disk_of(dir.path()).map_err(LabError::Limits);
            let device = if limits.is_none() {
                None
            } else {
                Some(disk()?)
            };
            let group = Group::make(dir.run(), device.map(|device| (device, limits)))?;
            return self.measure(dir.path(), group.path(), &words, listener);
        };
        // Room for the file and for what the file system keeps to itself.
        let size = pool.size_mib.max(2 * self.file_mib + 64);
        let volume = lab.volume(
            &format!("pool{}", index + 1),
            &storage::spec(volume, size, 0),
        )?;
        let (Some(point), Some(in_force)) = (volume.point(), volume.in_force()) else {
            return Err(LabError::NotMounted);
        };
        let striped = match volume.spec().devices {
            1 => String::new(),
            devices => format!(", striped over {devices} devices"),
        };
        let words = format!("a volume with {in_force}{striped}{}", limit_words(&limits));
        let device = (!limits.is_none()).then_some((volume.device().device, limits));
        let group = Group::make(dir.run(), device)?;
        self.measure(point, group.path(), &words, listener)
    }

    fn measure(
        &self,
        directory: &Path,
        group: Option<&Path>,
        words: &str,
        listener: &mut CeilingListener<'_>,
    ) -> Result<Ceiling, LabError> {
        let asked = Sweep {
            directory,
            file_mib: self.file_mib,
            seconds: self.seconds,
            depths: &self.depths,
            group,
        };
        Ok(sweep(&RealHost, &asked, words, listener)?)
    }
}

/// Measure what the pools of a run can do and keep it beside the store, where the study asks for it
/// and it is not there yet.
///
/// # Errors
/// When a pool cannot be made or measured, the result not be kept, or the user wants no more:
/// nothing is kept then.
pub(crate) fn measure_run(
    dir: &RunDir,
    plan: &Plan,
    stop: &AtomicBool,
    listener: &Listener<'_>,
) -> Result<(), LabError> {
    let kept = dir.path().join(CEILINGS);
    if !plan
        .variants
        .iter()
        .flat_map(Variant::studies)
        .any(|study| study.storage.ceiling)
        || kept.exists()
    {
        return Ok(());
    }
    let gauge = Gauge::OF_RUNS;
    let all = pools(plan).len() * PATTERNS.len() * BLOCKS_KIB.len() * gauge.depths.len();
    let mut count = 0;
    let mut report = |point: &CeilingPoint| {
        count += 1;
        let (pattern, block, depth) = (point.pattern.name(), point.block_kib, point.depth);
        listener(&Event::Building {
            what: "ceiling of the storage".to_owned(),
            detail: format!(
                "{count} of {all}: random {pattern}s of {block} KiB, depth {depth}: {:.0}/s",
                point.iops
            ),
        });
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let measured = gauge.pools_in(dir, plan, &mut report)?;
    let text = serde_json::to_vec_pretty(&measured)?;
    write_whole(&kept, &text)
        .map_err(|error| LabError::file("keep what the storage can do", &kept, error))
}

/// One pool of a plan, as large as its largest volume: that of data, or of a role beside them.
#[derive(Debug)]
struct Pool<'a> {
    volume: Option<&'a VolumeUse>,
    limits: &'a IoLimits,
    size_mib: u64,
}

/// The different pools of a plan.
fn pools(plan: &Plan) -> Vec<Pool<'_>> {
    let mut found: Vec<Pool<'_>> = Vec::new();
    let parts = plan.points.iter().flat_map(|point| plan.parts(point));
    for (part, study) in parts {
        let StorageUse {
            volume,
            roles,
            limits,
            ..
        } = &study.storage;
        let beside = roles.iter();
        let beside =
            beside.map(|(role, role_use)| (*role, Some(&role_use.volume), &role_use.limits));
        for (role, volume, limits) in
            iter::once((StorageRole::Data, volume.as_ref(), limits)).chain(beside)
        {
            let size_mib = part.only_group().volumes_mib.mib(role);
            let same = |pool: &&mut Pool<'_>| pool.volume == volume && pool.limits == limits;
            match found.iter_mut().find(same) {
                Some(pool) => pool.size_mib = pool.size_mib.max(size_mib),
                None => found.push(Pool {
                    volume,
                    limits,
                    size_mib,
                }),
            }
        }
    }
    found
}

/// The control group in which fio runs, where something is limited.
struct Group(Option<(Cgroups, String, PathBuf)>);

impl Group {
    fn make(run: &RunId, limited: Option<((u32, u32), IoLimits)>) -> Result<Self, LabError> {
        let Some((device, limits)) = limited else {
            return Ok(Self(None));
        };
        let fail = |error: std::io::Error| {
            let help = "run as root, on a host whose control groups are mounted";
            LabError::Limits(HostError::because(error, help))
        };
        let cgroups = Cgroups::detect().map_err(fail)?;
        check_throttle(&cgroups).map_err(LabError::Limits)?;
        // Below the run's own group, which clean-up knows.
        let name = format!("rookery/{run}/fio");
        let path = make_group(&cgroups, &name).map_err(fail)?;
        let made = Self(Some((cgroups, name, path)));
        if let Some((cgroups, name, _)) = &made.0 {
            limit(cgroups, name, device, &limits).map_err(fail)?;
        }
        Ok(made)
    }

    fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(|(_, _, path)| path.as_path())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some((cgroups, name, _)) = &self.0 {
            // What stays goes with the run's group when the lab closes.
            let _ = cgroups.remove(name);
        }
    }
}

/// `; at most 200 reads/s`
fn limit_words(limits: &IoLimits) -> String {
    let words = limits.named().into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(match name {
            "read_iops" => format!("{value} reads/s"),
            "write_iops" => format!("{value} writes/s"),
            "read_bps" => format!("{} MiB/s read", value >> 20),
            _ => format!("{} MiB/s written", value >> 20),
        })
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        String::new()
    } else {
        format!("; at most {}", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pools_are_measured_once_at_their_largest() {
        let text = "title = \"t\"\nworkload = { kind = \"dvdstore\", new_customers = [0.0, 0.2] \
                    }\nload = { users = 9 }\nguest = { kind = \"container\", memory = \"256MiB\" \
                    }\n\
                    host = { overcommit = 4 }\nlayout = [{ name = \"a\", guests = [1, 2] \
                    }]\n[storage]\npool = \"volume\"\nsize = \"600MiB per host\"\n\
                    atime = [\"relatime\", \"noatime\"]\nread_iops = 100\n";
        let document = rookery_study::Document::parse("s.toml", text)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let facts = rookery_study::HostFacts {
            cpus: vec![0, 1],
            memory_mib: 8192,
            disk_free_mib: 80_192,
            root: true,
            places: Vec::new(),
        };
        let plan = Plan::of(&document, &facts).unwrap_or_else(|problems| panic!("{problems}"));
        let pools = pools(&plan);
        assert_eq!(
            pools.iter().map(|pool| pool.size_mib).collect::<Vec<_>>(),
            [600, 600],
            "two of four variants"
        );
        assert_eq!(limit_words(pools[0].limits), "; at most 100 reads/s");
        assert_eq!(limit_words(&IoLimits::default()), "");
    }
}
