// The list of operators: keep the cards with the text in one of their names, and those of the groups that are pressed.
document.addEventListener("DOMContentLoaded", () => {
  const field = document.getElementById("og-filter");
  if (!field) return;
  const cards = [...document.querySelectorAll(".og-card")];
  const groups = [...document.querySelectorAll(".og-group")];
  const none = document.querySelector(".og-none");
  const keep = () => {
    const wanted = field.value.trim().toLowerCase();
    const pressed = groups.filter((group) => group.ariaPressed === "true").map((group) => group.textContent);
    for (const card of cards) {
      const isInGroup = !pressed.length || pressed.includes(card.dataset.group);
      card.hidden = !isInGroup || !card.dataset.names.includes(wanted);
    }
    none.hidden = cards.some((card) => !card.hidden);
  };
  field.addEventListener("input", keep);
  for (const group of groups) {
    group.addEventListener("click", () => {
      group.ariaPressed = String(group.ariaPressed !== "true");
      keep();
    });
  }
  keep();
});
