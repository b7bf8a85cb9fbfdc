import { accessOperations, type Operation, openApi } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";

/** Describes everything that can be asked for, from the schemas that check it. */
export function descriptionDialect(operations: readonly Operation[], version: string): Dialect {
  let described: object | undefined;
  return {
    name: "description",
    mount(place) {
      place.plain(accessOperations.getApiDescription, async () => {
        described ??= openApi(operations, { title: "Reins", version });
        return described;
      });
    },
  };
}
