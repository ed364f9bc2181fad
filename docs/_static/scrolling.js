// Boxes that scroll sideways take the keyboard's focus, so that arrow keys move them.
const boxes = "pre, .table-wrapper, div.math, .front, p:has(> img)";
function mark() {
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", mark);
addEventListener("load", mark);
addEventListener("resize", mark);
