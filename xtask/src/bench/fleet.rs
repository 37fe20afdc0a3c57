//! What other machines cost and bring: users from another host beside users from this one, the
//! control of many agents, and trials side by side.

mod agents;
mod controller;
mod drivers;
mod spread;

const USAGE: &str = "\
usage: cargo xtask bench fleet [drivers | agents | spread] [--pairs N] [--agents N]

  drivers     CPU per request of a driver on another host, by each way, against one on this host
  agents      CPU and memory of a controller of simulated agents, and the skew of their starts
  spread      time of 40 short trials on three hosts against one
  --pairs N   rounds of trials in random order (5)
  --agents N  agents, at most 256 (200)
";

/// Run `bench fleet`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    // The benchmark starts itself again as the process of all agents.
    if let ["serve", address, agents, place] = words[..] {
        return agents::serve(address, agents, place);
    }
    let (what, options) = match words.split_first() {
        Some((what @ (&"drivers" | &"agents" | &"spread"), options)) => (Some(*what), options),
        _ => (None, words.as_slice()),
    };
    let (mut pairs, mut agents) = (5, 200);
    for option in options.chunks(2) {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` is no number\n{USAGE}"))
        };
        match option {
            ["--pairs", text] => pairs = number(text)?,
            ["--agents", text] => agents = number(text)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let wanted = |part| what.is_none_or(|what| what == part);
    if wanted("drivers") {
        drivers::compare(pairs)?;
    }
    if wanted("agents") {
        agents::run(agents)?;
    }
    if wanted("spread") {
        spread::compare()?;
    }
    Ok(())
}
