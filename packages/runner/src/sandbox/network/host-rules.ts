import { isIP } from "node:net";
import { SandboxError } from "../sandbox-error.ts";

/** Which hosts, and which of their ports, may be reached. */
export interface HostRule {
  /** A name or an address, or what a name has to end with. */
  readonly host: string;
  readonly kind: "exact" | "suffix" | "any";
  /** All, if there are none. */
  readonly ports?: readonly number[];
}

const USUAL_PORTS = [80, 443];
const RULE = /^(\*\.(?=.)|\*)?(\[[^\]]+\]|[^:*]*)(?::(\d{1,5}|\*))?$/;

/** Reads a rule: `api.example.com`, `*.example.com:8443`, `127.0.0.1:*`, `[::1]:8080`, `*`. */
export function parseHostRule(text: string): HostRule {
  const [match, star, name = "", port] = RULE.exec(text.trim()) ?? [];
  const host = name === "" ? "" : normalHost(name);
  const port16 = port === undefined || port === "*" || (Number(port) > 0 && Number(port) < 65_536);
  const sound = star === "*" ? name === "" : host !== undefined && host !== "" && !(star && isIP(host));
  if (match === undefined || !sound || !port16 || host === undefined)
    throw new SandboxError(
      "invalid_host",
      `"${text}" does not name hosts that an agent may reach.`,
      'Write a name ("api.example.com"), a suffix ("*.example.com"), an address or "*", with ":port" if need be.',
    );
  return {
    host,
    kind: star === "*" ? "any" : star ? "suffix" : "exact",
    ...(port !== "*" && { ports: port === undefined ? USUAL_PORTS : [Number(port)] }),
  };
}

/** The rule that lets a host through; an exact one, if there is one. */
export function ruleFor(host: string, port: number, rules: readonly HostRule[]): HostRule | undefined {
  const fitting = rules.filter((rule) => fits(host, rule) && (rule.ports?.includes(port) ?? true));
  return fitting.find(({ kind }) => kind === "exact") ?? fitting[0];
}

/** A host as it is compared: in lower case, encoded, without a last dot; an address in its one usual form. */
export function normalHost(name: string): string | undefined {
  if (!/^[^\s/?#@\\]+$/.test(name)) return undefined;
  const url = URL.parse(`http://${name}/`);
  if (url === null || url.port !== "" || url.pathname !== "/") return undefined;
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function fits(host: string, rule: HostRule): boolean {
  switch (rule.kind) {
    case "any":
      return true;
    case "exact":
      return host === rule.host;
    case "suffix":
      return host.endsWith(`.${rule.host}`) && isIP(host) === 0;
  }
}
