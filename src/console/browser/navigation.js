// Where the navigation is wider than the window, shows where in it one is.

function showHere() {
  document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}

showHere();
addEventListener('resize', showHere);
