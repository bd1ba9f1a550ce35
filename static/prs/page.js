// Entry of every page: starts what the page needs.
import {startLive} from "./live.js";
import {startKeys} from "./keys.js";

startLive();
startKeys();
