/** Whether a version of Node is at least what a range such as `>=22.12` asks for. */
export function fitsNode(range: string, version: string): boolean {
  const [, least] = /^>=\s*v?([\d.]+)$/.exec(range) ?? [];
  if (least === undefined) throw new Error(`"${range}" is no range of versions such as >=22.`);
  const [wanted, ours] = [numbers(least), numbers(version)];
  for (const [place, number] of wanted.entries()) {
    const difference = (ours[place] ?? 0) - number;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function numbers(version: string): number[] {
  return version.replace(/^v/, "").split(".").map(Number);
}
