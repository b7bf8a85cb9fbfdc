import { z } from "zod";

/** A field of a form that an agent asks to have filled in. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly kind: "text" | "number" | "boolean" | "choice";
  readonly isWhole: boolean;
  readonly isRequired: boolean;
  readonly choices: readonly { readonly value: string; readonly name: string }[];
  readonly initial: string;
}

const text = z.string().optional();
const Property = z.looseObject({
  type: z.string().default("string"),
  title: text,
  description: text,
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(z.looseObject({ const: z.string(), title: text })).optional(),
});
const Schema = z.looseObject({
  properties: z.record(z.string(), Property).default({}),
  required: z.array(z.string()).default([]),
});

/** The fields of a form, in order; none for a schema that is no form. */
export function formFields(schema: unknown): readonly FormField[] {
  const read = Schema.safeParse(schema);
  if (!read.success) return [];
  const { properties, required } = read.data;
  return Object.entries(properties).map(([name, property]) => {
    const choices = choicesOf(property);
    return {
      name,
      label: property.title ?? name,
      hint: property.description,
      kind: choices.length > 0 ? "choice" : kindOf(property.type),
      isWhole: property.type === "integer",
      isRequired: required.includes(name),
      choices,
      initial: property.default === undefined ? "" : String(property.default),
    };
  });
}

/** What was filled in, as the schema wants it; what was left empty is left out. */
export function formContent(
  fields: readonly FormField[],
  filled: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind, initial }): (readonly [string, unknown])[] => {
      const value = filled[name] ?? initial;
      if (kind === "boolean") return [[name, value === "true"]];
      if (value === "") return [];
      return [[name, kind === "number" ? Number(value) : value]];
    }),
  );
}

function kindOf(type: string): FormField["kind"] {
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "text";
}

function choicesOf({ enum: values, enumNames, oneOf }: z.infer<typeof Property>): FormField["choices"] {
  if (oneOf) return oneOf.map(({ const: value, title }) => ({ value, name: title ?? value }));
  return (values ?? []).map((value, index) => ({ value, name: enumNames?.[index] ?? value }));
}
