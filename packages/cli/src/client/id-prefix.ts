import { CliError, EXIT } from "../errors.ts";

interface IdFormat {
  readonly what: string;
  /** What every id begins with; it may be left out. */
  readonly mark: string;
  readonly length: number;
  readonly list: string;
}

type Page = readonly { readonly id: string }[];

/** Shorter prefixes match another id by chance. */
const MIN_PREFIX = 4;
const MAX_SHOWN = 5;

/** Completes the beginning of an id. The first search that finds anything decides. */
export async function idByPrefix(
  given: string,
  form: IdFormat,
  searches: readonly (() => Promise<Page> | AsyncIterable<Page>)[],
): Promise<string> {
  const { mark, length, what, list } = form;
  const start = given.startsWith(mark) ? given : mark + given;
  if (start.length >= length) return start;
  if (start.length < mark.length + MIN_PREFIX)
    throw new CliError(`"${given}" is too short for the id of one ${what}.`, {
      next: `Give at least ${MIN_PREFIX} characters of its id. To see them: ${list}`,
    });
  for (const search of searches) {
    const found = new Set<string>();
    const pages = search();
    for await (const page of pages instanceof Promise ? [pages] : pages)
      for (const { id } of page) if (id.startsWith(start)) found.add(id);
    const [only] = found;
    if (only !== undefined && found.size === 1) return only;
    if (only !== undefined) throw ambiguous(given, what, [...found]);
  }
  throw new CliError(`There is no ${what} whose id begins with ${start}.`, {
    next: `To see them: ${list}`,
    exitCode: EXIT.failed,
  });
}

function ambiguous(given: string, what: string, ids: readonly string[]): CliError {
  const shown = ids.slice(0, MAX_SHOWN).map((id) => `  ${id}`);
  if (ids.length > MAX_SHOWN) shown.push(`  and ${ids.length - MAX_SHOWN} more`);
  return new CliError(`"${given}" is the beginning of more than one ${what}.`, {
    next: ["Give more of the id:", ...shown].join("\n"),
  });
}
