/** A line of a diff. */
export interface DiffLine {
  readonly kind: "same" | "out" | "in";
  readonly text: string;
}

/** Above this many comparisons, the differing part is shown as all removed, then all added. */
const MOST = 1_000_000;

/** Compares two texts line by line. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < young.length && old[head] === young[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < young.length - head &&
    old[old.length - 1 - tail] === young[young.length - 1 - tail]
  )
    tail += 1;
  const same = (texts: readonly string[]) => texts.map((text): DiffLine => ({ kind: "same", text }));
  return [
    ...same(old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), young.slice(head, young.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Keeps the longest common subsequence of lines; the rest is removed or added. */
function middle(old: readonly string[], young: readonly string[]): readonly DiffLine[] {
  const out = old.map((text): DiffLine => ({ kind: "out", text }));
  const put = young.map((text): DiffLine => ({ kind: "in", text }));
  if (old.length === 0 || young.length === 0 || old.length * young.length > MOST) return [...out, ...put];
  // Each line is compared many times, so lines are compared by number, which costs the same for any length.
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
  const [rows, columns] = [old.map(numberOf), young.map(numberOf)];
  const width = young.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = young.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        rows[row] === columns[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < young.length) {
    if (rows[row] === columns[column]) {
      lines.push({ kind: "same", text: old[row] ?? "" });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ kind: "out", text: old[row] ?? "" });
      row += 1;
    } else {
      lines.push({ kind: "in", text: young[column] ?? "" });
      column += 1;
    }
  }
  return [...lines, ...out.slice(row), ...put.slice(column)];
}
