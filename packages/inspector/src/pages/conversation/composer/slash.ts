import type { Command } from "../../../acp/conversation/conversation.ts";

/** The commands that what is being written may become; none once it is more than a command's name. */
export function commandsFor(text: string, commands: readonly Command[]): readonly Command[] {
  const begun = /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();
  if (begun === undefined) return [];
  return commands.filter(({ name }) => name.toLowerCase().startsWith(begun));
}
