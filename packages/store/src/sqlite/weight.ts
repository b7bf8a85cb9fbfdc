/** About how many bytes plain data takes up, so that queues can be bounded by it. Stops counting at `limit`. */
export function weightOf(data: unknown, limit: number): number {
  let weight = 0;
  const left = [data];
  while (left.length > 0 && weight < limit) {
    const value = left.pop();
    weight += 8;
    if (typeof value === "string") weight += value.length;
    if (typeof value !== "object" || value === null) continue;
    if ("byteLength" in value) weight += Number(value.byteLength);
    else for (const part of Object.values(value)) left.push(part);
  }
  return weight;
}
