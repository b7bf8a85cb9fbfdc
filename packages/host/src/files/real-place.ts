import { readlink } from "node:fs/promises";
import { join, resolve, sep } from "node:path";

/** As many links as the kernel follows. */
const MOST_LINKS = 40;

/**
 * Where a path leads, also where nothing is: links are followed as far as there are any, and the rest of the path is taken
 * by its names. So a link that leads nowhere lies where it leads to, and whether something is there makes no difference.
 */
export async function realPlace(path: string): Promise<string> {
  const rest = resolve(path).split(sep).filter(Boolean);
  let place: string = sep;
  for (let links = 0; ; ) {
    const name = rest.shift();
    if (name === undefined) return place;
    const next = name === ".." ? resolve(place, "..") : join(place, name);
    const target = name === "." ? "" : await readlink(next).catch(() => undefined);
    if (target === undefined || links === MOST_LINKS) place = next;
    else if (target !== "") {
      links += 1;
      rest.unshift(...target.split(sep).filter(Boolean));
      if (target.startsWith(sep)) place = sep;
    }
  }
}
