import { isRecord } from "@reins/kit";

/** The member of an object that may not be one. */
export function member(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

/** A member that should be a text; empty where it is not. */
export function textMember(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === "string" ? found : "";
}

/** A member that should be a list; empty where it is not. */
export function listMember(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

/** The texts in a content that is a text, or a list of parts of which some have one. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (typeof part === "string" ? part : textMember(part, "text")))
    .filter((text) => text !== "")
    .join("\n");
}

/** The names of the arguments that a JSON Schema describes, and which of them must be given. */
export function argumentNames(schema: unknown): {
  properties: readonly string[];
  required: readonly string[];
} {
  const properties = member(schema, "properties");
  const required = listMember(schema, "required").filter((name) => typeof name === "string");
  return { properties: isRecord(properties) ? Object.keys(properties) : [], required };
}
