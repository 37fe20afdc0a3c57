//! What is handed out: a tarball and a Debian package, with manual pages, completions and studies.
//!
//! The program is linked statically with the C library, so that it runs on any Linux of its
//! processor. Both files are the same whenever they are made of the same program: names are sorted,
//! owners are root, and times are that of the last commit.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Shells with completions: the name of the shell, and where its file lies.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/rookery"),
    ("zsh", "share/zsh/site-functions/_rookery"),
    ("fish", "share/fish/vendor_completions.d/rookery.fish"),
];
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
const DEBIAN: &str = include_str!("dist/control");

/// Make both files in `target/dist`; `--program FILE` takes a program that is built already.
///
/// # Errors
/// When something cannot be built or written.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    let root = crate::root::directory();
    let program = match args {
        [] => built(&root)?,
        ["--program", file] => PathBuf::from(file),
        _ => return Err("usage: cargo xtask dist [--program FILE]".to_owned()),
    };
    let out = root.join("target/dist");
    let version = version(&program)?;
    let name = format!("rookery-{version}-{}-linux", std::env::consts::ARCH);
    let tree = out.join(&name);
    let _ = fs::remove_dir_all(&tree);
    lay_out(&root, &program, &tree)?;
    let tarball = out.join(format!("{name}.tar.gz"));
    tar(&out, &name, &tarball, &time(&root)?)?;
    println!("dist: {}", shown(&tarball)?);
    let package = debian(&tree, &out, &version, &time(&root)?)?;
    println!("dist: {}", shown(&package)?);
    Ok(())
}

/// Build the program with the profile `dist`, linked statically.
///
/// Addresses that the start of the program adjusts are stored as a bitmap: a list of them would be
/// three quarters of a megabyte.
fn built(root: &Path) -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let flags = "-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs";
    // Named targets leave build scripts and macros alone, which cannot be static.
    let arguments = [
        "build",
        "--profile",
        "dist",
        "--locked",
        "-p",
        "rookery",
        "--target",
        &target,
    ];
    done(
        Command::new("cargo")
            .args(arguments)
            .env("RUSTFLAGS", flags)
            .current_dir(root),
    )?;
    Ok(root.join("target").join(target).join("dist/rookery"))
}

fn version(program: &Path) -> Result<String, String> {
    let said = told(Command::new(program).arg("version"))?;
    let version = said.trim().strip_prefix("rookery ").unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || ".+~-".contains(c);
    if version.is_empty() || !version.chars().all(plain) {
        return Err(format!("{} has no version: {said}", program.display()));
    }
    Ok(version.to_owned())
}

/// The files as they lie below `/usr`.
fn lay_out(root: &Path, program: &Path, tree: &Path) -> Result<(), String> {
    let place = |inside: &str| -> Result<PathBuf, String> {
        let path = tree.join(inside);
        let parent = path.parent().unwrap_or(tree);
        fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        Ok(path)
    };
    copy(program, &place("bin/rookery")?, 0o755)?;
    done(
        Command::new(program)
            .arg("man")
            .arg(tree.join("share/man/man1")),
    )?;
    for (shell, inside) in COMPLETIONS {
        let script = told(Command::new(program).args(["completions", shell]))?;
        write(&place(inside)?, script.as_bytes())?;
    }
    for text in TEXTS {
        copy(
            &root.join(text),
            &place(&format!("share/doc/rookery/{text}"))?,
            0o644,
        )?;
    }
    copy_studies(&root.join("studies"), &tree.join("share/rookery/studies"))
}

/// The study files, and the folders of files that they name.
fn copy_studies(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for entry in fs::read_dir(from).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_studies(&entry.path(), &target)?;
        } else {
            copy(&entry.path(), &target, 0o644)?;
        }
    }
    Ok(())
}

/// The Debian package of a tree.
fn debian(tree: &Path, out: &Path, version: &str, time: &str) -> Result<PathBuf, String> {
    let architecture = told(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let base = out.join("debian");
    let _ = fs::remove_dir_all(&base);
    let below = base.join("usr");
    fs::create_dir_all(base.join("DEBIAN")).map_err(|error| format!("debian: {error}"))?;
    done(Command::new("cp").arg("-a").arg(tree).arg(&below))?;
    let pages = fs::read_dir(below.join("share/man/man1")).map_err(|error| error.to_string())?;
    for page in pages.flatten() {
        // As Debian wants them; without the name and time of the file.
        done(Command::new("gzip").arg("-9n").arg(page.path()))?;
    }
    let text = DEBIAN
        .replace("{version}", version)
        .replace("{architecture}", architecture)
        .replace("{size}", &size_kib(&below)?.to_string());
    write(&base.join("DEBIAN/control"), text.as_bytes())?;
    let package = out.join(format!("rookery_{version}_{architecture}.deb"));
    done(
        Command::new("dpkg-deb")
            .args(["--build", "--root-owner-group"])
            .arg(&base)
            .arg(&package)
            .env("SOURCE_DATE_EPOCH", time),
    )?;
    Ok(package)
}

fn size_kib(tree: &Path) -> Result<u64, String> {
    let said = told(
        Command::new("du")
            .args(["-sk", "--apparent-size"])
            .arg(tree),
    )?;
    let first = said.split_whitespace().next();
    first
        .and_then(|size| size.parse().ok())
        .ok_or_else(|| format!("du said `{said}`"))
}

fn tar(out: &Path, name: &str, tarball: &Path, time: &str) -> Result<(), String> {
    done(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .arg(format!("--mtime=@{time}"))
            .args(["--use-compress-program=gzip -9n", "-cf"])
            .arg(tarball)
            .arg("-C")
            .arg(out)
            .arg(name),
    )
}

/// When the last commit was made, seconds since 1970.
fn time(root: &Path) -> Result<String, String> {
    let said = told(
        Command::new("git")
            .args(["log", "-1", "--format=%ct"])
            .current_dir(root),
    )?;
    Ok(said.trim().to_owned())
}

fn shown(file: &Path) -> Result<String, String> {
    let size = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mib = size.len() as f64 / 1_048_576.0;
    Ok(format!("{} ({mib:.1} MiB)", file.display()))
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    fs::copy(from, to)
        .and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(mode)))
        .map_err(|error| format!("{}: {error}", from.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Run a command to its good end.
fn done(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {status}")),
    }
}

/// What a command prints.
fn told(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that answers what is asked of the real one.
    const PROGRAM: &str = "#!/bin/sh\ncase \"$1\" in\nversion) echo 'rookery 1.2.3';;\n\
                           man) mkdir -p \"$2\" && echo page > \"$2/rookery.1\";;\n\
                           completions) echo \"completions of $2\";;\nesac\n";

    #[test]
    fn the_tree_has_program_pages_completions_and_studies() {
        let dir = std::env::temp_dir().join(format!("rookery-dist-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("made");
        let program = dir.join("rookery");
        fs::write(&program, PROGRAM).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
        assert_eq!(version(&program).expect("told"), "1.2.3");
        let tree = dir.join("tree");
        lay_out(&crate::root::directory(), &program, &tree).expect("laid out");
        for inside in [
            "bin/rookery",
            "share/man/man1/rookery.1",
            "share/rookery/studies/quick.toml",
            "share/doc/rookery/README.md",
            COMPLETIONS[0].1,
            COMPLETIONS[1].1,
            COMPLETIONS[2].1,
        ] {
            assert!(tree.join(inside).is_file(), "{inside}");
        }
        let zsh = fs::read_to_string(tree.join(COMPLETIONS[1].1)).expect("there");
        assert_eq!(zsh, "completions of zsh\n");
        fs::remove_dir_all(&dir).expect("removed");
    }
}
