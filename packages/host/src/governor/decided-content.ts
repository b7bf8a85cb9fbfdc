import { isObject, type JsonObject } from "@reins/acp";

/** Members that hold the whole text of a file, by the tools that write one. */
const WHOLE = ["content", "file_text"] as const;
/** Members that hold what an edit replaces, and what it puts there. */
const REPLACED = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["oldText", "newText"],
  ["old_str", "new_str"],
] as const;
const EVERYWHERE = ["replace_all", "replaceAll"] as const;

/**
 * The text that a file has after a call with these arguments; nothing where it does not follow from them. `current`
 * reads the text that an edit is applied to, if it can.
 */
export async function contentAfter(
  given: unknown,
  current: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (!isObject(given)) return undefined;
  const whole = WHOLE.filter((name) => Object.hasOwn(given, name)).map((name) => given[name]);
  const edits = editsIn(given);
  if (whole.length > 0) {
    const [text] = whole;
    return whole.length === 1 && edits.length === 0 && typeof text === "string" ? text : undefined;
  }
  if (edits.length === 0) return undefined;
  let text = await current();
  for (const edit of edits) text = text === undefined || !edit ? undefined : applied(text, edit);
  return text;
}

interface Edit {
  readonly before: string;
  readonly after: string;
  readonly everywhere: boolean;
}

/** The edits in some arguments: of one that cannot be read, nothing. */
function editsIn(given: JsonObject): readonly (Edit | undefined)[] {
  const isOne = REPLACED.some((names) => names.some((name) => Object.hasOwn(given, name)));
  if (!Object.hasOwn(given, "edits")) return isOne ? [editIn(given)] : [];
  return isOne || !Array.isArray(given.edits) ? [undefined] : given.edits.map(editIn);
}

function editIn(given: unknown): Edit | undefined {
  if (!isObject(given)) return undefined;
  const named = REPLACED.filter((names) => names.some((name) => Object.hasOwn(given, name)));
  const [[old, next] = []] = named;
  if (named.length !== 1 || old === undefined || next === undefined) return undefined;
  const { [old]: before, [next]: after } = given;
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  return { before, after, everywhere: EVERYWHERE.some((name) => given[name] === true) };
}

/** A text after an edit; nothing where what it replaces is not there, or not once. */
function applied(text: string, { before, after, everywhere }: Edit): string | undefined {
  if (before === "") return text === "" ? after : undefined;
  const parts = text.split(before);
  if (parts.length === 1 || (parts.length > 2 && !everywhere)) return undefined;
  return parts.join(after);
}
