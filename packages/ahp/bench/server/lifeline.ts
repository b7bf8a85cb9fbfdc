/** Tells the process that started this one where the server listens, and ends with it. */
export function report(address: string): void {
  process.once("disconnect", () => process.exit());
  process.send?.(address);
}
