/** A line of a diff. */
export interface DiffLine {
  readonly kind: "same" | "out" | "in";
  readonly text: string;
}

/** Above this many comparisons, the differing part is shown as all removed, then all added. */
const MOST = 1_000_000;

/** Compares two texts line by line. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [previous, current] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < previous.length && head < current.length && previous[head] === current[head]) head += 1;
  let tail = 0;
  while (
    tail < previous.length - head &&
    tail < current.length - head &&
    previous[previous.length - 1 - tail] === current[current.length - 1 - tail]
  )
    tail += 1;
  const same = (texts: readonly string[]) => texts.map((text): DiffLine => ({ kind: "same", text }));
  return [
    ...same(previous.slice(0, head)),
    ...middle(previous.slice(head, previous.length - tail), current.slice(head, current.length - tail)),
    ...same(previous.slice(previous.length - tail)),
  ];
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Keeps the longest common subsequence of lines; the rest is removed or added. */
function middle(previous: readonly string[], current: readonly string[]): readonly DiffLine[] {
  const out = previous.map((text): DiffLine => ({ kind: "out", text }));
  const put = current.map((text): DiffLine => ({ kind: "in", text }));
  if (previous.length === 0 || current.length === 0 || previous.length * current.length > MOST)
    return [...out, ...put];
  // Each line is compared many times, so lines are compared by number, which costs the same for any length.
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
  const [rows, columns] = [previous.map(numberOf), current.map(numberOf)];
  const width = current.length + 1;
  const lengths = new Uint32Array((previous.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = previous.length - 1; row >= 0; row -= 1)
    for (let column = current.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        rows[row] === columns[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < previous.length && column < current.length) {
    if (rows[row] === columns[column]) {
      lines.push({ kind: "same", text: previous[row] ?? "" });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ kind: "out", text: previous[row] ?? "" });
      row += 1;
    } else {
      lines.push({ kind: "in", text: current[column] ?? "" });
      column += 1;
    }
  }
  return [...lines, ...out.slice(row), ...put.slice(column)];
}
