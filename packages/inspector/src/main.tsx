import { config } from "zod";
import "./styles.css";

// The page's content security policy rejects code made at run time, so zod must not compile schemas. The rest of the
// page is imported after this call; a static import could be bundled before it.
config({ jitless: true });
const { mountPage } = await import("./app/app.tsx");
mountPage();
