import type { Command } from "commander";

export const CLI_REFERENCE = new URL("../../../docs/reference/cli.md", import.meta.url);

const INTRODUCTION = `# Command line

Made from the commands themselves by \`npm run schemas\`; \`reins <command> --help\` says the same. In a clone,
\`npm run reins -- <command>\` runs it.`;

/** Renders the help of every command as one page. */
export function cliReference(program: Command): string {
  const sections = commandsIn(program).map(sectionOf);
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

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
