//! `rookery new`: a commented study from three questions.

use std::{
    fs::OpenOptions,
    io::{self, BufRead, IsTerminal as _, Write as _},
};

use rookery_study::Document;

use crate::{
    cli::{NewArgs, Question},
    exit::{Code, Failure},
    output,
    workloads::{Starter, starters},
};

/// The answers.
#[derive(Clone, Copy)]
struct Answers {
    question: Question,
    starter: &'static Starter,
    vcpus: u32,
}

pub(crate) fn run(args: &NewArgs) -> Result<Code, Failure> {
    let answers = answers(args)?;
    let text = study(answers);
    // A template of ours that is wrong must not become somebody's study.
    Document::parse("the new study", &text).map_err(Failure::from_problems)?;
    let Some(path) = &args.study else {
        output::result(text.trim_end());
        return Ok(Code::Done);
    };
    let shown = path.display();
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::new(Code::Usage, format!("cannot write {shown}: {error}"))
            .help("name a file that does not exist yet, in a directory that does")
    })?;
    output::result(format!(
        "{shown} is written; `rookery plan {shown}` shows what it would run, `rookery run {shown}` \
         runs it"
    ));
    Ok(Code::Done)
}

/// What was typed, and for the rest what is answered on the terminal.
fn answers(args: &NewArgs) -> Result<Answers, Failure> {
    let starter = match &args.stack {
        Some(name) => Some(named(name)?),
        None => None,
    };
    if let (Some(question), Some(starter), Some(vcpus)) = (args.question, starter, args.vcpus) {
        return Ok(Answers {
            question,
            starter,
            vcpus,
        });
    }
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(Failure::new(
            Code::Usage,
            "no terminal is there to ask the three questions on",
        )
        .help("answer them with --question, --stack and --vcpus"));
    }
    let mut input = input.lock();
    let questions: Vec<(&str, &str)> = Question::ALL
        .iter()
        .map(|question| (question.name(), question.meaning()))
        .collect();
    let stacks: Vec<(&str, &str)> = starters()
        .map(|starter| (starter.name, starter.what))
        .collect();
    let question = match args.question {
        Some(question) => question,
        None => Question::ALL[choose(&mut input, "What do you want to know?", &questions)?],
    };
    let starter = match starter {
        Some(starter) => starter,
        None => named(stacks[choose(&mut input, "What shall be measured?", &stacks)?].0)?,
    };
    let vcpus = match args.vcpus {
        Some(vcpus) => vcpus,
        None => loop {
            output::remark("How many CPUs may guests use together? [1]");
            match line(&mut input)?.as_str() {
                "" => break 1,
                text => match text.parse() {
                    Ok(vcpus) if (1..=MOST_VCPUS).contains(&vcpus) => break vcpus,
                    _ => output::remark("a number from 1 to 64, please"),
                },
            }
        },
    };
    Ok(Answers {
        question,
        starter,
        vcpus,
    })
}

/// More CPUs than a first study is about.
const MOST_VCPUS: u32 = 64;

fn named(name: &str) -> Result<&'static Starter, Failure> {
    starters()
        .find(|starter| starter.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = starters().map(|starter| starter.name).collect();
            Failure::new(
                Code::Usage,
                format!("there is no stack `{name}` to begin with"),
            )
            .help(format!("one of {}", names.join(", ")))
        })
}

fn choose(
    input: &mut impl BufRead,
    question: &str,
    choices: &[(&str, &str)],
) -> Result<usize, Failure> {
    output::remark(question);
    for (at, (name, meaning)) in (1..).zip(choices) {
        output::remark(format!("  {at}  {name}: {meaning}"));
    }
    loop {
        output::remark(format!("1 to {} [1]", choices.len()));
        let answer = line(input)?;
        if answer.is_empty() {
            return Ok(0);
        }
        let number = answer
            .parse::<usize>()
            .ok()
            .filter(|at| (1..=choices.len()).contains(at));
        let by_name = choices.iter().position(|(name, _)| *name == answer);
        if let Some(at) = number.map(|at| at - 1).or(by_name) {
            return Ok(at);
        }
    }
}

fn line(input: &mut impl BufRead) -> Result<String, Failure> {
    let mut text = String::new();
    match input.read_line(&mut text) {
        Ok(0) => Err(Failure::new(Code::Usage, "the questions were not answered")
            .help("answer them with --question, --stack and --vcpus")),
        Ok(_) => Ok(text.trim().to_owned()),
        Err(error) => Err(Failure::new(
            Code::Usage,
            format!("the answer cannot be read: {error}"),
        )),
    }
}

/// The study, with a comment wherever somebody will want to change something.
fn study(answers: Answers) -> String {
    let Answers {
        question,
        starter,
        vcpus,
    } = answers;
    let parts = Parts::new(answers);
    let (users, host) = (&parts.users, parts.host(vcpus));
    format!(
        "# {comment}\n\
         # `rookery reference` lists every key; `rookery plan` on this file shows what it runs.\n\
         \n\
         title = \"{title}\"\n\
         question = \"{question}\"\n\
         \n\
         [workload]\n{workload}\
         \n\
         [load]\n\
         {users}\
         ramp_up = \"2s\"                  # {plural} start evenly over this time\n\
         settle = \"{settle}\"{pad}# nothing is measured until it is over\n\
         steady = \"10s\"                  # the measured window\n\
         repeats = {repeats}                     # 3 or more give intervals, 5 good ones\n\
         {search}\
         \n\
         [qos]                           # limits that count as \"carried\"\n{limit}\
         \n\
         [stack]\n{stack}{tuning}\
         \n\
         [guest]\n{guest}\
         {host}\
         {layouts}",
        comment = question.meaning(),
        title = parts.title,
        question = parts.question,
        workload = starter.workload,
        plural = starter.unit.plural,
        settle = starter.settle,
        pad = " ".repeat(21usize.saturating_sub(starter.settle.len())),
        repeats = parts.repeats,
        search = parts.search,
        limit = starter.limit,
        stack = starter.stack,
        tuning = parts.tuning,
        guest = starter.guest,
        layouts = parts.layouts,
    )
}

/// What differs from question to question.
struct Parts {
    title: &'static str,
    question: String,
    users: String,
    repeats: u32,
    search: String,
    tuning: String,
    overcommit: u32,
    layouts: String,
}

impl Parts {
    fn new(answers: Answers) -> Self {
        let Answers {
            question,
            starter,
            vcpus,
        } = answers;
        let unit = starter.unit;
        let one = format!("\n[[layout]]\nname = \"one guest\"\nguests = 1\nvcpus = {vcpus}\n");
        let (low, high, most) = (unit.low * vcpus, unit.high * vcpus, unit.most * vcpus);
        match question {
            Question::Capacity => Self {
                title: "How much does one guest carry within its limits?",
                question: format!(
                    "How many {} does a guest of {vcpus} vCPU carry?",
                    unit.plural
                ),
                users: format!(
                    "users = [{low}, {high}]           # {} whose curve is drawn\n",
                    unit.plural
                ),
                repeats: 3,
                search: format!(
                    "\n[load.search]                   # the largest load within the limits\n\
                     to = {most}                       # try no more than this\n"
                ),
                tuning: String::new(),
                overcommit: 1,
                layouts: one,
            },
            Question::Splits => Self {
                title: "One big guest or several small ones?",
                question: "What do several guests on the same CPUs cost against one?".to_owned(),
                users: format!(
                    "users = \"{high} per host\"         # {} of all guests together\n",
                    unit.plural
                ),
                repeats: 5,
                search: String::new(),
                tuning: String::new(),
                overcommit: 4,
                layouts: format!(
                    "\n[[layout]]\nname = \"one big\"\nguests = 1\nvcpus = {vcpus}\n\
                     \n[[layout]]\n\
                     name = \"several small\"           # they share the CPUs of the big one\n\
                     guests = [2, 4]\nvcpus = {vcpus}\n"
                ),
            },
            Question::Tuning => Self {
                title: "What is a tuning worth?",
                question: "How much do throughput and response times change?".to_owned(),
                users: format!("users = {high}                     # {}\n", unit.plural),
                repeats: 5,
                search: String::new(),
                tuning: tuning(starter),
                overcommit: 1,
                layouts: one,
            },
        }
    }

    /// `[host]`, where guests share CPUs.
    fn host(&self, vcpus: u32) -> String {
        if self.overcommit == 1 {
            return String::new();
        }
        format!(
            "\n[host]\novercommit = {}                  # up to {} vCPUs share a CPU: all layouts \
             have {vcpus}\n",
            self.overcommit, self.overcommit
        )
    }
}

/// Two levels that are compared: tunings, or where a stack has none what its pages do.
fn tuning(starter: &Starter) -> String {
    match starter.tunings {
        Some([one, other]) => format!(
            "tuning = [\"{one}\", \"{other}\"]     # a list is a factor: its values are compared\n"
        ),
        None => {
            "# The built-in server has no tunings: CPU time that is burnt in every page stands for \
                 one.\nextra_cpu = [\"0us\", \"100us\"]      # a list is a factor: its values are \
                 compared\n"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn every_answer_gives_a_study_that_is_right_and_commented() {
        for starter in starters() {
            for question in Question::ALL {
                for vcpus in [1, 4] {
                    let text = study(Answers {
                        question,
                        starter,
                        vcpus,
                    });
                    let name = format!("{} {}", starter.name, question.name());
                    if let Err(problems) = Document::parse(&name, &text) {
                        panic!("{problems}\n{text}");
                    }
                    let comments = text.lines().filter(|line| line.contains('#')).count();
                    assert!(comments >= 6, "{text}");
                    assert!(
                        text.lines().all(|line| line.chars().count() <= 100),
                        "{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_question_takes_a_number_a_name_or_nothing() {
        let choices = [("one", "the first"), ("two", "the second")];
        let chosen = |typed: &str| choose(&mut Cursor::new(typed.to_owned()), "which?", &choices);
        assert_eq!(chosen("\n").expect("answered"), 0);
        assert_eq!(chosen("3\nx\n2\n").expect("answered"), 1);
        assert_eq!(chosen("two\n").expect("answered"), 1);
        assert!(chosen("").is_err());
    }
}
