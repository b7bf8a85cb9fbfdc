import { z } from "zod";

/** A field of an elicitation form. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly kind: "text" | "number" | "boolean" | "choice" | "choices";
  readonly isWhole: boolean;
  readonly isRequired: boolean;
  readonly choices: readonly { readonly value: string; readonly name: string }[];
  /** The initial value; for multiple choices a JSON array. */
  readonly initial: string;
}

const text = z.string().nullish();
const texts = z.array(z.string());
const Titled = z.array(z.looseObject({ const: z.string(), title: text })).nullish();
const Property = z.looseObject({
  type: z.string().default("string"),
  title: text,
  description: text,
  default: z.union([z.string(), z.number(), z.boolean(), texts]).nullish(),
  enum: texts.nullish(),
  enumNames: texts.nullish(),
  oneOf: Titled,
  items: z.looseObject({ enum: texts.nullish(), anyOf: Titled }).nullish(),
});
const Schema = z.looseObject({
  properties: z.record(z.string(), Property).default({}),
  required: texts.nullish(),
});

/** The fields of a form in order; `undefined` if the form cannot be shown. */
export function formFields(schema: unknown): readonly FormField[] | undefined {
  const read = Schema.safeParse(schema ?? {});
  if (!read.success) return undefined;
  const { properties, required } = read.data;
  return Object.entries(properties).map(([name, property]) => {
    const choices = choicesOf(property);
    return {
      name,
      label: property.title ?? name,
      hint: property.description ?? undefined,
      kind: kindOf(property.type, choices.length > 0),
      isWhole: property.type === "integer",
      isRequired: required?.includes(name) ?? false,
      choices,
      initial: textOf(property.default),
    };
  });
}

/** Parses the choices of a field. */
export function chosenIn(value: string): readonly string[] {
  return value === "" ? [] : texts.parse(JSON.parse(value));
}

/** The form's content as its schema wants it; empty fields are left out. */
export function formContent(
  fields: readonly FormField[],
  filled: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind, initial }): (readonly [string, unknown])[] => {
      const value = filled[name] ?? initial;
      if (kind === "boolean") return [[name, value === "true"]];
      if (value === "") return [];
      if (kind === "choices") return [[name, chosenIn(value)]];
      return [[name, kind === "number" ? Number(value) : value]];
    }),
  );
}

function kindOf(type: string, hasChoices: boolean): FormField["kind"] {
  if (hasChoices) return type === "array" ? "choices" : "choice";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "text";
}

function choicesOf(property: z.infer<typeof Property>): FormField["choices"] {
  const { enumNames, items } = property;
  const titled = property.oneOf ?? items?.anyOf;
  if (titled) return titled.map(({ const: value, title }) => ({ value, name: title ?? value }));
  const values = property.enum ?? items?.enum ?? [];
  return values.map((value, index) => ({ value, name: enumNames?.[index] ?? value }));
}

function textOf(value: z.infer<typeof Property>["default"]): string {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}
