// The index of operators: keep the cards with the text in one of their names.
document.addEventListener("DOMContentLoaded", () => {
  const field = document.getElementById("og-filter");
  if (!field) return;
  const keep = () => {
    const wanted = field.value.trim().toLowerCase();
    for (const card of document.querySelectorAll(".og-card")) card.hidden = !card.dataset.names.includes(wanted);
    for (const cards of document.querySelectorAll(".og-cards")) {
      const isEmpty = !cards.querySelector(".og-card:not([hidden])");
      (cards.closest("section") ?? cards).hidden = isEmpty;
    }
  };
  field.addEventListener("input", keep);
  keep();
});
