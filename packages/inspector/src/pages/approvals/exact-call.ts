import { z } from "zod";

/** A call in the form in which a person judges it fastest; `rest` are the arguments that this form does not show. */
export type ExactCall =
  | { readonly kind: "command"; readonly command: string; readonly rest: Arguments }
  | {
      readonly kind: "diff";
      readonly path: string;
      readonly before: string;
      readonly after: string;
      readonly rest: Arguments;
    }
  | { readonly kind: "arguments"; readonly value: unknown };

type Arguments = Readonly<Record<string, unknown>>;

const text = z.string();
const Command = z.looseObject({ command: text });
const Edits = z.union([
  z
    .looseObject({ path: text, old_text: text, new_text: text })
    .transform(({ path, old_text: before, new_text: after, ...rest }) => ({ path, before, after, rest })),
  z
    .looseObject({ file_path: text, old_string: text, new_string: text })
    .transform(({ file_path: path, old_string: before, new_string: after, ...rest }) => ({
      path,
      before,
      after,
      rest,
    })),
  z
    .looseObject({ path: text, content: text })
    .transform(({ path, content: after, ...rest }) => ({ path, before: "", after, rest })),
  z
    .looseObject({ file_path: text, content: text })
    .transform(({ file_path: path, content: after, ...rest }) => ({ path, before: "", after, rest })),
]);

/** The exact call: a command as a command, an edit as a diff, anything else as it is. Nothing of it is left out. */
export function exactCall(given: unknown): ExactCall {
  const called = Command.safeParse(given);
  if (called.success) {
    const { command, ...rest } = called.data;
    return { kind: "command", command, rest };
  }
  const edit = Edits.safeParse(given);
  return edit.success ? { kind: "diff", ...edit.data } : { kind: "arguments", value: given };
}
