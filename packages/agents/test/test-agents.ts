import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Catalogue } from "../src/catalogue.ts";
import { Installer } from "../src/install/installer.ts";

/** The agents of the catalogue, installed for tests into the user's cache, where the next run finds them. */
export function testAgents(): Installer {
  const { XDG_CACHE_HOME: named } = process.env;
  const cache = named && isAbsolute(named) ? named : join(homedir(), ".cache");
  return new Installer({
    folder: join(cache, "reins", "agents"),
    catalogue: Catalogue.load(),
    environment: process.env,
  });
}
export {
  attempt,
  hold,
  type Intent,
  lookAround,
  readFile,
  reply,
  ScriptedModel,
  say,
  scene,
  scenes,
  startAgent,
  writeFile,
} from "@reins/scripted-model";
