/** What JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [member: string]: JsonValue };

/** Whether a value is a JSON object, and not an array or null. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value that is JSON but not the plain JSON of the format: nested too deep, not finite, half a surrogate pair. */
export class PlainError extends Error {
  override readonly name = "PlainError";
}

/** Deeper than anything valid nests; what does is read as the engine reads it, and refused for that later. */
const DEPTH_LIMIT = 256;

/** A string, and the colon behind it where it is the name of a member. */
const STRING = /"(?:[^"\\]|\\.)*"\s*(:?)/gs;
/** The next thing in a text: a bracket, a string, or a word such as a number. */
const TOKEN = /\s*([{}[\]]|"(?:[^"\\]|\\.)*"|[^\s,:{}[\]"]+)\s*[,:]?/sy;

/**
 * `JSON.parse` without a defect of V8, which takes a name with an escape in it for one that it has seen at the same place in an earlier
 * object, if that has a backslash where the escape begins. `{"a":1,"\n":2}` after `{"a":1,"\\":2}` has no member `\n`.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): JsonValue {
  const value: JsonValue = JSON.parse(text);
  if (!text.includes("\\") || !hasEscapedName(text)) return value;
  return new Reader(text).read(0) ?? value;
}

function hasEscapedName(text: string): boolean {
  for (const [written, colon] of text.matchAll(STRING))
    if (colon === ":" && written.includes("\\")) return true;
  return false;
}

/** Reads a text that is known to be JSON, a token at a time; a string alone is read right by every engine. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next value; nothing where there is none, or it is nested too deep. */
  read(depth: number): JsonValue | undefined {
    const token = this.#next();
    if (token === "{" || token === "[") {
      if (depth > DEPTH_LIMIT) return undefined;
      return token === "{" ? this.#object(depth + 1) : this.#list(depth + 1);
    }
    return token === "]" ? undefined : JSON.parse(token);
  }

  #object(depth: number): JsonObject | undefined {
    const object: JsonObject = {};
    for (let token = this.#next(); token !== "}"; token = this.#next()) {
      const value = this.read(depth);
      if (value === undefined) return undefined;
      // As JSON.parse does it: `__proto__` is a member like others.
      const member = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(object, JSON.parse(token), member);
    }
    return object;
  }

  #list(depth: number): JsonValue[] | undefined {
    const list: JsonValue[] = [];
    for (;;) {
      const begun = this.#at;
      if (this.#next() === "]") return list;
      this.#at = begun;
      const value = this.read(depth);
      if (value === undefined) return undefined;
      list.push(value);
    }
  }

  #next(): string {
    TOKEN.lastIndex = this.#at;
    const [whole = "", token = ""] = TOKEN.exec(this.#text) ?? [];
    this.#at += whole.length;
    return token;
  }
}
