import { accessOperations } from "@reins/api";
import type { Access } from "../access/access.ts";
import { cookieIn, setCookie } from "../access/cookie.ts";
import type { Gatekeeper } from "../access/gatekeeper.ts";
import type { Dialect } from "../dialect/dialect.ts";

/** Lets browsers in with a code, and out again. */
export function loginDialect(
  access: Access,
  gatekeeper: Gatekeeper,
  addresses: () => readonly string[],
): Dialect {
  return {
    name: "login",
    mount(place) {
      place.plain(accessOperations.login, async ({ body, request, doorway, header }) => {
        const login = await access.login(body.code);
        if (!login) throw gatekeeper.refusalOfGuess(request, "the code was used, is over or never was");
        const { id, expires } = login;
        header("set-cookie", setCookie(access.cookie, id, { expires, secure: doorway.secure }));
        return { expires_at: expires.toISOString() };
      });
      place.governed(accessOperations.createLoginCode, async ({ principal }) => {
        const code = access.newCode(principal.id);
        return { code, addresses: addresses().map((address) => `${address}/ui/#${code}`) };
      });
      place.plain(accessOperations.logout, async ({ request, doorway, header }) => {
        const id = cookieIn(request, access.cookie);
        if (id === undefined) return undefined;
        await access.logout(id);
        header("set-cookie", setCookie(access.cookie, "", { expires: new Date(0), secure: doorway.secure }));
        return undefined;
      });
    },
  };
}
