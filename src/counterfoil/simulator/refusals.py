"""Errors in Stripe's words, with their statuses and bodies."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An error body of Stripe's."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        validation: bool = True,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        #: Refused before anything was executed: such an answer is not stored under an idempotency key.
        self.validation = validation
        self.body: dict[str, Any] = {"error": {"type": type, "message": message}}
        if code:
            self.body["error"]["code"] = code
        if param:
            self.body["error"]["param"] = param


def missing(kind: str, id: str, param: str = "id") -> ApiError:
    """404: no such object."""
    return ApiError(404, f"No such {kind}: '{id}'", code="resource_missing", param=param)


def unknown_parameter(name: str) -> ApiError:
    """400: a parameter that the API does not have."""
    return ApiError(400, f"Received unknown parameter: {name}", code="parameter_unknown", param=name)


def missing_parameter(name: str) -> ApiError:
    """400: a parameter that must be sent."""
    return ApiError(400, f"Missing required param: {name}.", code="parameter_missing", param=name)


def exclusive(*names: str) -> ApiError:
    """400: parameters that exclude each other."""
    return ApiError(400, f"You may only specify one of these parameters: {', '.join(names)}.")


def not_open(status: str) -> ApiError:
    """400: only open sessions can be expired."""
    return ApiError(
        400,
        'Only Checkout Sessions with a status in ["open"] can be expired. '
        f"This Checkout Session has a status of `{status}`.",
        validation=False,
    )
