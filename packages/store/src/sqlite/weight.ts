/** About how many bytes plain data takes up, so that queues can be bounded by it. Stops counting at `limit`. */
export function weightOf(data: unknown, limit: number): number {
  let weight = 0;
  const left: object[] = [];
  const weigh = (part: unknown): void => {
    weight += 8;
    if (typeof part === "string") weight += part.length;
    else if (typeof part === "object" && part !== null) left.push(part);
  };
  weigh(data);
  for (let value = left.pop(); value !== undefined && weight < limit; value = left.pop()) {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) weight += value.byteLength;
    else for (const part of Array.isArray(value) ? value : Object.values(value)) weigh(part);
  }
  return weight;
}
