import type { Complaint } from "../report/fault.ts";
import type { KeyChange } from "./announcement.ts";
import type { Key } from "./key.ts";

/** A key and whether it still may sign. */
interface RegisteredKey {
  readonly key: Key;
  retired: boolean;
}

/** The keys that were announced so far. */
export class KeyRegister {
  readonly #keys = new Map<string, RegisteredKey>();

  /** Applies what an entry does to the keys. */
  apply({ added, retired, complaints }: KeyChange): Complaint[] {
    const found = [...complaints];
    if (added !== undefined) found.push(...this.#add(added));
    if (retired !== undefined) found.push(...this.#retire(retired));
    return found;
  }

  /** The key with that id, or why it may not sign now. */
  find(id: string): Key | Complaint {
    const registered = this.#keys.get(id);
    if (registered === undefined) {
      return {
        code: "key_unknown",
        message: "the entry is signed with a key that no earlier entry announced",
        found: id,
      };
    }
    if (registered.retired) {
      return {
        code: "key_retired",
        message: "the entry is signed with a key that was retired before",
        found: id,
      };
    }
    return registered.key;
  }

  #add(key: Key): Complaint[] {
    if (!this.#keys.has(key.id)) {
      this.#keys.set(key.id, { key, retired: false });
      return [];
    }
    return [{ code: "key_repeated", message: "the key was announced before", found: key.id }];
  }

  #retire(id: string): Complaint[] {
    const registered = this.#keys.get(id);
    if (registered === undefined) {
      return [{ code: "key_unknown", message: "the key that is retired was never announced", found: id }];
    }
    if (registered.retired) {
      return [{ code: "key_repeated", message: "the key was retired before", found: id }];
    }
    registered.retired = true;
    return [];
  }
}
