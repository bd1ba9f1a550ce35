// Every page: live updates, keys, forms. Without scripts pages still read and send.
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startTimes } from "./time.js";

startLive();
startKeys();
startForms();
startTimes();
