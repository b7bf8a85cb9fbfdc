// node install-process.ts <folder> <agent>: installs an agent of the registry, as the environment says.
import { Catalogue } from "../src/catalogue.ts";
import { Installer } from "../src/install/installer.ts";
import { RegistrySource } from "../src/registry/registry-source.ts";

const [, , folder = "", agent = ""] = process.argv;
const { env: environment } = process;
const registry = new RegistrySource({ folder, environment });
const catalogue = Catalogue.load([], folder);
await new Installer({ folder, catalogue, environment, registry }).install(agent);
