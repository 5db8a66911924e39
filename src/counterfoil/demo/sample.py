"""The sample: practice hubs and assessment-centre exercises, two schools, and one code that is nearly spent."""

from __future__ import annotations

from decimal import Decimal

from counterfoil import catalogue, checkout, portal
from counterfoil.calls import RetrieveSession
from counterfoil.catalogue import CodeTerms
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Order, Shop
from counterfoil.periods import Calendar
from counterfoil.pricing import FixedPrice, PercentOff
from counterfoil.procedure import drive
from counterfoil.settlement import settle_session
from counterfoil.simulator import Running
from counterfoil.stripe.drivers import SyncStripe
from counterfoil.tokens import new_token

PRODUCTS = (
    (
        "numerical-hub",
        "Numerical reasoning hub",
        "Forty timed sets with worked answers, at the pace of the real thing.",
        2900,
        ("numerical-hub",),
    ),
    (
        "situational-hub",
        "Situational judgement hub",
        "Scenes from a first week at work, and why recruiters rank the answers as they do.",
        2400,
        ("situational-hub",),
    ),
    (
        "assessment-day",
        "The assessment day",
        "An in-tray and a group task, as assessment centres set them, with what the observers write down.",
        4900,
        ("in-tray", "group-task"),
    ),
)

#: Half price, with room; and a fixed price whose last place is left.
ROOMY, NEARLY_SPENT = "HARROW-HILL", "LAKESIDE-3"

#: The school whose page the demo opens, and the people of both.
SCHOOL = "lakeside"
PEOPLE = {
    "harrow-hill": ("careers@harrow-hill.example", "Ada Brook"),
    "lakeside": ("office@lakeside.example", "Moana Reid"),
}


def is_there(host: Psycopg) -> bool:
    """Whether the sample was made before."""
    return bool(host.run(catalogue.institutions(most=1)))


def make(host: Psycopg, stripe: SyncStripe, simulator: Running, shop: Shop) -> None:
    """Make the sample. The sales in it are real ones: held, paid at the simulator, settled."""
    for id, name, description, amount, unlocks in PRODUCTS:
        host.run(
            catalogue.add_product(
                id=id, name=name, description=description, amount=amount, currency="gbp", unlocks=unlocks
            )
        )
    harrow = host.run(
        catalogue.add_institution(
            name="Harrow Hill College", slug="harrow-hill", time_zone="Europe/London", year_start="09-01"
        )
    )
    lakeside = host.run(
        catalogue.add_institution(
            name="Lakeside School", slug="lakeside", time_zone="Pacific/Auckland", year_start="02-01"
        )
    )
    for school in (harrow, lakeside):
        # Joined, so that a sign-in mail can be asked for at /portal: it is seen in the outbox.
        email, name = PEOPLE[school.slug]
        token = new_token()
        host.run(portal.invite(institution=school.id, token=token, email=email, name=name))
        host.run(portal.redeem(token=token, session=new_token()))
    half = CodeTerms(cap=40, discount=PercentOff(Decimal(50)))
    few = CodeTerms(cap=3, discount=FixedPrice(900, "gbp"))
    year = Calendar.ACADEMIC_YEAR
    host.run(catalogue.add_code(institution=harrow, code=ROOMY, terms=half, calendar=year))
    host.run(catalogue.add_code(institution=lakeside, code=NEARLY_SPENT, terms=few, calendar=year))
    for buyer in ("mina@lakeside.example", "tane@lakeside.example"):
        order = Order(
            buyer=buyer, product="numerical-hub", code=NEARLY_SPENT,
            success_url="http://127.0.0.1/", cancel_url="http://127.0.0.1/",
        )  # fmt: skip
        opened = drive(checkout.open_checkout(order, shop), host, stripe)
        if opened.checkout.session_id:
            simulator.pay(opened.checkout.session_id)
            session = stripe.carry_out(RetrieveSession(opened.checkout.session_id))
            drive(settle_session(session, shop), host, stripe)
