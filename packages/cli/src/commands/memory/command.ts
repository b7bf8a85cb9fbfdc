import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../client/connect.ts";
import { exitCodesHelp } from "../../errors.ts";
import type { AddFlags } from "./add.ts";
import type { ListFlags } from "./list.ts";

const CODES = exitCodesHelp(OPERATOR_CODES);

/** Declares `reins memory` and what belongs to it. */
export function declareMemory(memory: Command): void {
  memory.description(
    "The facts that sessions of the same user know, whoever wrote them: a session, or a person here.",
  );
  declareAdd(memory);
  declareSearch(memory);
  declareList(memory);
  declareForget(memory);
}

function declareAdd(memory: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins memory add "releases are cut on Thursdays"
  reins memory add "tests need a database" --workspace ~/project`;
  operatorFlags(
    memory
      .command("add")
      .summary("keep a fact")
      .description("Keeps a fact. To say the same again makes it newer.")
      .argument("<fact...>", "what is known; - reads it from stdin")
      .option("--workspace <folder>", "where it is true (default: everywhere)")
      .option("--confidence <number>", "how sure it is, from 0 to 1 (default: 1)"),
    "print the fact as JSON",
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (words: string[], _, command: Command) => {
      const { add } = await import("./add.ts");
      await add(words, command.optsWithGlobals<AddFlags>());
    });
}

function declareSearch(memory: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins memory search "when is the release"
  reins memory search database --workspace ~/project`;
  operatorFlags(
    memory
      .command("search")
      .summary("find facts")
      .description("Finds the facts that fit the words best, as a session would recall them.")
      .argument("<words...>", "what to look for")
      .option("--workspace <folder>", "leave out what is true in other folders")
      .option("--limit <count>", "how many (default: 100)"),
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (words: string[], _, command: Command) => {
      const { list } = await import("./list.ts");
      await list(words.join(" "), command.optsWithGlobals<ListFlags>());
    });
}

function declareList(memory: Command): void {
  operatorFlags(
    memory
      .command("list")
      .summary("list the newest facts")
      .description("Lists facts, newest first.")
      .option("--limit <count>", "how many (default: 100)"),
  )
    .addHelpText("after", `${OPERATOR_HELP}\n\nExamples:\n  reins memory list --limit 10`)
    .addHelpText("after", CODES)
    .action(async (_, command: Command) => {
      const { list } = await import("./list.ts");
      await list(undefined, command.optsWithGlobals<ListFlags>());
    });
}

function declareForget(memory: Command): void {
  operatorFlags(
    memory
      .command("forget")
      .summary("forget a fact")
      .description("Forgets a fact for good.")
      .argument("<fact>", "the fact's id; its beginning is enough"),
  )
    .addHelpText("after", `${OPERATOR_HELP}\n\nExamples:\n  reins memory forget 1b9d6bcd`)
    .addHelpText("after", CODES)
    .action(async (fact: string, _, command: Command) => {
      const { forget } = await import("./forget.ts");
      await forget(fact, command.optsWithGlobals<OperatorFlags>());
    });
}
