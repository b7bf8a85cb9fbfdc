const PLACE = /\$\{(\w+)((?:\|\w+)*)\}/g;

const FILTERS: Readonly<Record<string, (value: string) => string>> = {
  /** Inside the quotes of a JSON or TOML text. */
  quoted: (value) => JSON.stringify(value).slice(1, -1),
  /** The lines of a new file in a patch. */
  added: (value) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => `+${line}`)
      .join("\n"),
};

/** Values by the name they stand under in a template. */
export type TemplateValues = Readonly<Record<string, unknown>>;

/** Puts values into a text: `${name}`, or `${name|filter}`. A name without a value is a fault of the template. */
export function fill(template: string, values: TemplateValues): string {
  return template.replaceAll(PLACE, (place, name: string, filters: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`There is no value for ${place} in "${template}".`);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return filters.split("|").slice(1).reduce(filtered, text);
  });
}

/** The same for every text within a value; a text that is one placeholder becomes the value itself. */
export function fillDeep(template: unknown, values: TemplateValues): unknown {
  if (typeof template === "string") {
    const [, name] = /^\$\{(\w+)\}$/.exec(template) ?? [];
    return name !== undefined && values[name] !== undefined ? values[name] : fill(template, values);
  }
  if (Array.isArray(template)) return template.map((each) => fillDeep(each, values));
  if (template === null || typeof template !== "object") return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, value]) => [fill(key, values), fillDeep(value, values)]),
  );
}

function filtered(text: string, name: string): string {
  const filter = FILTERS[name];
  if (!filter) throw new Error(`There is no filter "${name}".`);
  return filter(text);
}
