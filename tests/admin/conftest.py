"""Django's admin, used by an operator."""

import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client
