import { exactLines } from "../words/exact.ts";

/** A text and what becomes of it, line by line: what stays, what goes and what comes. Nothing is left out. */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [before === "" ? [] : exactLines(before), after === "" ? [] : exactLines(after)];
  const shorter = Math.min(old.length, now.length);
  let same = 0;
  while (same < shorter && old[same] === now[same]) same += 1;
  let tail = 0;
  while (tail < shorter - same && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  return [
    ...old.slice(0, same).map((line) => `   ${line}`),
    ...old.slice(same, old.length - tail).map((line) => ` - ${line}`),
    ...now.slice(same, now.length - tail).map((line) => ` + ${line}`),
    ...old.slice(old.length - tail).map((line) => `   ${line}`),
  ];
}
