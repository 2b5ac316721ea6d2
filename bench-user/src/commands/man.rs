//! `man`: the manual pages, made of the same definitions as the help texts.

use std::fs;

use anyhow::Context as _;
use bench_user::cli::{Cli, ManArgs};
use clap::CommandFactory as _;
use clap_mangen::Man;

use super::{Outcome, print, say};

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    match &args.out {
        Some(folder) => {
            fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
                .with_context(|| format!("cannot write into {}", folder.display()))?;
            say(&format!("written to {}", folder.display()));
        }
        None => {
            let page = page(&args.command)?;
            print(|out| out.write_all(&page))?;
        }
    }
    Ok(Outcome::Done)
}

/// The page of the command that these words lead to.
fn page(words: &[String]) -> anyhow::Result<Vec<u8>> {
    let mut command = &mut Cli::command().disable_help_subcommand(true);
    // Gives subcommands their whole names.
    command.build();
    for word in words {
        let known: Vec<_> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
        command = command.find_subcommand_mut(word).with_context(|| {
            format!("there is no command `{word}`; there are: {}", known.join(", "))
        })?;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_name_of_its_command_and_its_examples() {
        let page = page(&["study".to_owned(), "run".to_owned()]).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("bench\\-user\\-study\\-run"), "{page}");
        let page = super::page(&["run".to_owned()]).unwrap();
        assert!(String::from_utf8(page).unwrap().contains("sudo bench\\-user run"));
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        let said = page(&["stdy".to_owned()]).unwrap_err().to_string();
        assert!(said.contains("`stdy`") && said.contains("study"), "{said}");
    }
}
