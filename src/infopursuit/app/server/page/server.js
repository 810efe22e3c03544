// The server of this page.

import { InfopursuitClient } from "./client.js";
import { token } from "./token.js";

export const client = new InfopursuitClient("", { token });
