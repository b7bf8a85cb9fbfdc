/** Which methods each path takes, for whoever comes with another. */
export class AllowedMethods {
  readonly #methods = new Map<string, Set<string>>();

  /** Notes that a path takes some methods. Segments that begin with a colon stand for any. */
  add(path: string, methods: readonly string[]): void {
    const known = this.#methods.get(path) ?? new Set();
    for (const method of methods) known.add(method);
    this.#methods.set(path, known);
  }

  /** The methods that a path takes; none when there is nothing at it. */
  of(path: string): readonly string[] {
    const segments = path.split("/");
    const found = [...this.#methods].filter(([pattern]) => matches(pattern.split("/"), segments));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].sort();
  }
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every(
    (part, index) => part === segments[index] || (part.startsWith(":") && segments[index] !== ""),
  );
}
