//! `bench-user`: parses the command line, runs one command and turns its outcome into the exit
//! code. Everything else is in the library and in `commands/`.

mod commands;

use std::process::ExitCode;

use bench_user::cli::{Cli, Command};
use bench_user::target::{self, shim_main};

use commands::{Log, Outcome};

fn main() -> ExitCode {
    // This program again, on its way to become a target: nothing of ours may come before.
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let [word, order @ ..] = &words[..]
        && word == target::SHIM_WORD
    {
        return shim_main(order);
    }
    commands::completions::answer();
    let cli = Cli::of_process();
    start_log(&cli.command);
    ExitCode::from(match run(cli.command) {
        Ok(Outcome::Done) => 0,
        // Of claims: 0 every one holds, 1 one fails, 3 one is inconclusive or unavailable.
        Ok(Outcome::Answered(code)) => code,
        Err(error) => {
            commands::say(&format!("error: {error:#}"));
            2
        }
    })
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Run(args) => commands::run::run(&args),
        Command::Observe(args) => commands::observe::run(&args),
        Command::Exec(args) => commands::exec::run(&args),
        Command::Crawl(args) => commands::crawl::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::History(args) => commands::history::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Study(args) => commands::study::run(&args.command),
        Command::Schema => commands::schema::run(),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    }
}

/// Warnings go to standard error; what the probes log is at the level `info`. `RUST_LOG`
/// overrides both.
fn start_log(command: &Command) {
    let probe_log = matches!(command, Command::Run(args) if args.load.probe_log);
    let level = if probe_log { "info" } else { "warn" };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level))
        .target(env_logger::Target::Pipe(Box::new(Log::default())))
        .init();
}
