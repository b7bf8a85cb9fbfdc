import { z } from "zod";

/** A call in the form in which a person judges it fastest. */
export type ExactCall =
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "diff"; readonly path: string; readonly before: string; readonly after: string }
  | { readonly kind: "arguments"; readonly value: unknown };

const text = z.string();
const Command = z.looseObject({ command: text });
const Edits = z.union([
  z.looseObject({ path: text, old_text: text, new_text: text }).transform(({ path, old_text, new_text }) => ({
    path,
    before: old_text,
    after: new_text,
  })),
  z
    .looseObject({ file_path: text, old_string: text, new_string: text })
    .transform(({ file_path, old_string, new_string }) => ({
      path: file_path,
      before: old_string,
      after: new_string,
    })),
  z
    .looseObject({ path: text, content: text })
    .transform(({ path, content }) => ({ path, before: "", after: content })),
  z
    .looseObject({ file_path: text, content: text })
    .transform(({ file_path, content }) => ({ path: file_path, before: "", after: content })),
]);

/** The exact call: a command as a command, an edit as a diff, anything else as it is. */
export function exactCall(given: unknown): ExactCall {
  const command = Command.safeParse(given);
  if (command.success) return { kind: "command", command: command.data.command };
  const edit = Edits.safeParse(given);
  return edit.success ? { kind: "diff", ...edit.data } : { kind: "arguments", value: given };
}
