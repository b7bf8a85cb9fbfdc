import type { Command } from "commander";

/** Where the page about the command line is kept. */
export const CLI_REFERENCE = new URL("../../../../docs/reference/cli.md", import.meta.url);

const INTRODUCTION = `# Command line

Made from the commands themselves by \`npm run schemas\`; \`reins <command> --help\` says the same. In a clone,
\`npm run reins -- <command>\` runs it.`;

/** Every command with what can be said to it, as a page of documentation. */
export function cliReference(program: Command): string {
  const sections = commandsIn(program).map(sectionOf);
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

/** The commands that do something, in the order in which the help lists them. */
function commandsIn(parent: Command): Command[] {
  return parent.commands
    .filter((command) => command.name() !== "help")
    .flatMap((command) => (command.commands.length > 0 ? commandsIn(command) : [command]));
}

function sectionOf(command: Command): string {
  const help: string[] = [];
  command.configureHelp({ helpWidth: 100, showGlobalOptions: false });
  command.configureOutput({ writeOut: (text) => help.push(text) });
  command.outputHelp();
  return `## ${nameOf(command)}\n\n\`\`\`text\n${help.join("").trim()}\n\`\`\``;
}

function nameOf(command: Command): string {
  const { parent } = command;
  return parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}
