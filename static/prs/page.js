// Every page: live updates, keys, forms. Without scripts pages still read and send.
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startTimes } from "./time.js";

startLive();
startKeys();
startForms();
startTimes();

// On a narrow screen the bar of tabs scrolls sideways: the open one is in view.
const tabs = document.querySelector(".prs-tabs");
const open = tabs?.querySelector("[aria-current]");
if (open) tabs.scrollLeft = open.offsetLeft - (tabs.clientWidth - open.offsetWidth) / 2;
