// Pages show UTC, as the database and the cloud do. Resting on a time shows it as the clock on the wall.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

document.addEventListener('pointerover', (event) => {
  if (!(event.target instanceof HTMLTimeElement) || event.target.title !== '') return;
  event.target.title = format.format(new Date(event.target.dateTime));
});
