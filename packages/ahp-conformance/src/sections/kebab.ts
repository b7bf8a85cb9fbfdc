/** A name of the protocol as part of the id of a check. */
export function kebab(name: string): string {
  return name.replaceAll("_", "-");
}
