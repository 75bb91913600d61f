//! Installs the peers of `bench/peers` under `target/bench`, in their pinned versions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::contender::{BUNDLED_NODE, Contender, NODE, PYTHON};

/// The peer in Python, unless Python is missing.
pub fn python() -> Result<Option<Contender>> {
    let Some(Python { version, interpreter }) = Python::set_up()? else {
        eprintln!("Python is skipped: python3 is not installed");
        return Ok(None);
    };
    let (sources, home) = (sources("python"), home("python"));
    fs::copy(sources.join("handler.py"), home.join("handler.py"))?;
    // AWS's runtime client; the function's directory is the first on the path, as in Lambda.
    let program = "import sys\nfrom awslambdaric.__main__ import main\nmain(['', 'handler.handler'])\n";
    let bootstrap = script(&home.join("bootstrap"), &interpreter, program)?;
    let made_of = format!("{version}, {}", pinned(&sources.join("requirements.txt"), &POWERTOOLS)?);
    Ok(Some(Contender { name: PYTHON, made_of, bootstrap, batches: 6, warm_up: 6 }))
}

/// A loop in Python.
#[derive(Debug, Clone)]
pub struct LoopPeer {
    /// Its components, with versions.
    pub made_of: String,
    /// The interpreter.
    pub interpreter: PathBuf,
    /// The script.
    pub script: PathBuf,
}

/// The peer of our locks, unless Python is missing.
pub fn python_locks() -> Result<Option<LoopPeer>> {
    let Some(Python { version, interpreter }) = Python::set_up()? else { return Ok(None) };
    let sources = sources("python");
    let made_of = format!("{version}, {}", pinned(&sources.join("requirements.txt"), &LOCKS)?);
    Ok(Some(LoopPeer { made_of, interpreter, script: sources.join("locks.py") }))
}

/// The peer of our fold, unless Python is missing. It needs no libraries.
pub fn python_fold() -> Result<Option<LoopPeer>> {
    let Some(Python { version, interpreter }) = Python::set_up()? else { return Ok(None) };
    let made_of = format!("{version}, its own `gzip` and `json`");
    Ok(Some(LoopPeer { made_of, interpreter, script: sources("python").join("fold.py") }))
}

/// Python with the libraries of `requirements.txt`.
struct Python {
    version: String,
    interpreter: PathBuf,
}

impl Python {
    /// Installs what is missing; `None` if there is no Python.
    fn set_up() -> Result<Option<Self>> {
        let Some(version) = version_of("python3") else { return Ok(None) };
        let (sources, home) = (sources("python"), home("python"));
        let interpreter = home.join("venv/bin/python");
        set_up(&sources, &home, "requirements.txt", || {
            run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(&home))?;
            let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
            run(Command::new(&interpreter).args(install).current_dir(&home))
        })?;
        Ok(Some(Self { version, interpreter }))
    }
}

/// The peer in Node, unless Node is missing.
pub fn node() -> Result<Option<Contender>> {
    let (Some(version), Some(_)) = (version_of("node"), version_of("npm")) else {
        eprintln!("Node is skipped: node or npm is not installed");
        return Ok(None);
    };
    let (sources, home) = (sources("node"), home("node"));
    set_up(&sources, &home, "package-lock.json", || {
        fs::copy(sources.join("package.json"), home.join("package.json"))?;
        run(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&home))
    })?;
    fs::copy(sources.join("handler.mjs"), home.join("handler.mjs"))?;
    fs::copy(sources.join("runtime.mjs"), home.join("runtime.mjs"))?;
    let node = which("node").ok_or("node is not on the path")?;
    // For a file without an extension, Node uses the type of the package: a module.
    let bootstrap = script(&home.join("bootstrap"), &node, "import './runtime.mjs';\n")?;
    let made_of = format!("Node {version}, {}", pinned(&sources.join("package.json"), &POWERTOOLS)?);
    Ok(Some(Contender { name: NODE, made_of, bootstrap, batches: 12, warm_up: 120 }))
}

/// The peer in Node, bundled into one file as AWS recommends for cold starts; otherwise the same.
pub fn bundled_node() -> Result<Option<Contender>> {
    let Some(node) = node()? else { return Ok(None) };
    let home = home("node");
    // Older parts of the SDK load Node's modules with `require`.
    let banner = "--banner:js=import{createRequire}from'node:module';const require=createRequire(import.meta.url);";
    let options = ["runtime.mjs", "--bundle", "--minify", "--platform=node", "--format=esm", "--log-level=warning"];
    let bundler = home.join("node_modules/.bin/esbuild");
    run(Command::new(bundler).args(options).args([banner, "--outfile=bundle.mjs"]).current_dir(&home))?;
    let interpreter = which("node").ok_or("node is not on the path")?;
    let bootstrap = script(&home.join("bundled-bootstrap"), &interpreter, "import './bundle.mjs';\n")?;
    Ok(Some(Contender { name: BUNDLED_NODE, bootstrap, ..node }))
}

/// The folder of a peer's source.
fn sources(peer: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(peer)
}

/// The folder in which a peer, or something else for a run, is installed.
#[must_use]
pub fn home(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench").join(name)
}

/// Installs a peer's dependencies, unless they are already installed from the same list.
fn set_up(sources: &Path, home: &Path, list: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let (wanted, installed) = (sources.join(list), home.join("installed"));
    let wanted_list = fs::read_to_string(&wanted)?;
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted_list) {
        return Ok(());
    }
    eprintln!("installing the dependencies of {} into {}", sources.display(), home.display());
    fs::create_dir_all(home)?;
    fs::copy(&wanted, home.join(list))?;
    install()?;
    Ok(fs::write(installed, wanted_list)?)
}

/// A script that the kernel starts with its interpreter, without a shell.
fn script(path: &Path, interpreter: &Path, program: &str) -> Result<PathBuf> {
    let interpreter = std::path::absolute(interpreter)?;
    fs::write(path, format!("#!{}\n{program}", interpreter.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(path.to_owned())
}

/// The libraries in the description of the projection.
const POWERTOOLS: [&str; 4] = ["aws-lambda-powertools", "awslambdaric", "boto3", "client-dynamodb"];
/// The libraries in the description of the locks.
const LOCKS: [&str; 2] = ["boto3", "python-dynamodb-lock"];

/// These libraries with their versions in the list of dependencies.
fn pinned(list: &Path, libraries: &[&str]) -> Result<String> {
    let list = fs::read_to_string(list)?;
    let lines = list.lines().filter(|line| libraries.iter().any(|library| line.contains(library)));
    let plain = lines.map(|line| line.replace("\": \"", " ").replace("==", " ").replace(['"', ','], ""));
    Ok(plain.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(", "))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}
