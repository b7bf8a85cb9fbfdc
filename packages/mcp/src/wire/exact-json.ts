import { exactNumber } from "@reins/kit";

/** The value as plain data, but for numbers that do not fit into JavaScript's: those keep their digits. */
export function toPlain(value: unknown): unknown {
  return plain(value, exactNumber);
}

/** The value as plain data, its numbers as near as JavaScript comes. For what is only shown or compared. */
export function toNearlyPlain(value: unknown): unknown {
  return plain(value, Number);
}

/** Gives the value itself where it is plain already. */
function plain(value: unknown, read: (source: string) => unknown): unknown {
  if (!isContainer(value)) return value;
  if (JSON.isRawJSON(value)) return read(value.rawJSON);
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item, read));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const members = Object.entries(value).map(([name, member]) => [name, member, plain(member, read)] as const);
  if (members.every(([, before, after]) => before === after)) return value;
  return Object.fromEntries(members.map(([name, , after]) => [name, after]));
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
